// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roles, and the pipes of tiles between them.
//
// In shared memory a pipe is its slots, one behind the other, then two mbarriers a slot: `full`, on
// which the producer arrives once and announces the bytes that TMA then counts, and
// `empty`, on which each consumer warp arrives. A role goes through the slots in order and keeps
// its position, a slot and the parity of the phase that it waits for, in registers: allocas here,
// which LLVM promotes.
//
// Where CTAs of a cluster multicast tiles to one another, `empty` of each counts the warps of all:
// a warp's lanes arrive at one CTA each. `full` counts the bytes of all copies into its own CTA.
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/nvidia/analysis/Roles.h"
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "ditron/targets/nvidia/transforms/Passes.h"
#include "ditron/targets/nvidia/warpspec/Pipe.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ditron::nvidia {

Type pipeType(MLIRContext *context) {
  Type shared = LLVM::LLVMPointerType::get(context, 3), local = LLVM::LLVMPointerType::get(context);
  Type everywhere = IntegerType::get(context, 32);
  return LLVM::LLVMStructType::getLiteral(context, {shared, local, everywhere});
}

namespace {

/// Numbers of barriers: of all threads, and of the consumers; of a warpgroup; of its ping-pong.
constexpr int64_t kCommonBarriers = 2;
Value ownBarrier(ThreadBuilder &t, int64_t warps) {
  int64_t groups = warps / kWarpgroup;
  return t.add(t.digit({Axis::warp, kWarpgroup, groups, 1}), t.i32(kCommonBarriers));
}
Value pingPongBarrier(ThreadBuilder &t, int64_t warps, bool ofNext) {
  int64_t groups = warps / kWarpgroup;
  Value group = t.digit({Axis::warp, kWarpgroup, groups, 1});
  if (ofNext)
    group = t.b.create<arith::RemUIOp>(t.loc, t.add(group, t.i32(1)), t.i32(groups));
  return t.add(group, t.i32(kCommonBarriers + groups));
}
/// The threads of two warpgroups, which meet at a ping-pong barrier.
constexpr int64_t kPingPongThreads = 2 * kWarpgroup * kLanes;

Value isWarp(ThreadBuilder &t, int64_t warp) {
  return t.b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::eq, t.context.warp, t.i32(warp));
}
/// Its first lane.
Value isThread(ThreadBuilder &t, int64_t warp) {
  Value isFirst =
      t.b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::eq, t.context.lane, t.i32(0));
  return t.b.create<arith::AndIOp>(t.loc, isWarp(t, warp), isFirst);
}

struct PipePattern : TilePattern<PipeOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(PipeOp op, OpAdaptor, ConversionPatternRewriter &b) const override {
    PipeType type = op.getType();
    ThreadBuilder t(b, op.getLoc(), context_);
    int64_t slots = type.getSlots(), bytes = slots * slotBytes(type);
    int64_t barriers = 2 * slots * kBarrierBytes, word = op.getLeaving() ? 4 : 0;
    Value base = t.shared(context_.shared.allocate(bytes + barriers + word));
    if (word)
      b.create<LLVM::StoreOp>(op.getLoc(), t.i32(0), t.offset(base, bytes + barriers));
    Value pipe = b.create<LLVM::UndefOp>(op.getLoc(), pipeType(b.getContext()));
    pipe = b.create<LLVM::InsertValueOp>(op.getLoc(), pipe, base, 0);
    pipe = b.create<LLVM::InsertValueOp>(op.getLoc(), pipe, positions(t), 1);
    pipe = b.create<LLVM::InsertValueOp>(op.getLoc(), pipe, there(t, base, type), 2);
    clear(t, op, base);
    init(t, t.offset(base, bytes), slots, type.getCtas());
    b.replaceOp(op, pipe);
    return success();
  }

private:
  /// Rows that no copy brings are zero, in all slots.
  static void clear(ThreadBuilder &t, PipeOp op, Value base) {
    PipeType type = op.getType();
    int64_t before = 0;
    for (auto [tile, rows] : llvm::zip(type.getTiles(), op.getRows())) {
      clear(t, type, tile, rows, t.offset(base, before));
      before += tileBytes(tile);
    }
    if (!op.getRows().empty())
      t.instructions.fenceShared();
  }

  /// By all threads of the CTA, 16 bytes each.
  static void clear(ThreadBuilder &t, PipeType type, RankedTensorType tile, Value rows,
                    Value first) {
    OpBuilder &b = t.b;
    int64_t height = tile.getDimSize(0), panel = height * kPanelBytes;
    Value from = b.create<arith::IndexCastUIOp>(t.loc, b.getI32Type(), rows);
    from = t.mul(from, t.i32(kPanelBytes));
    Value begin = t.add(from, t.mul(t.thread(), t.i32(16)));
    auto step = t.i32(16 * t.context.lanes * (t.context.warps + t.context.producerWarps));
    Value zero =
        b.create<arith::ConstantOp>(t.loc, b.getZeroAttr(VectorType::get({4}, b.getI32Type())));
    OpBuilder::InsertionGuard guard(b);
    auto slots = b.create<scf::ForOp>(t.loc, t.i32(0), t.i32(type.getSlots()), t.i32(1));
    b.setInsertionPointToStart(slots.getBody());
    Value slot = t.offset(first, t.mul(slots.getInductionVar(), t.i32(slotBytes(type))));
    auto panels =
        b.create<scf::ForOp>(t.loc, t.i32(0), t.i32(broughtBytes(tile) / panel), t.i32(1));
    b.setInsertionPointToStart(panels.getBody());
    Value place = t.offset(slot, t.mul(panels.getInductionVar(), t.i32(panel)));
    auto pieces = b.create<scf::ForOp>(t.loc, begin, t.i32(panel), step);
    b.setInsertionPointToStart(pieces.getBody());
    b.create<LLVM::StoreOp>(t.loc, zero, t.offset(place, pieces.getInductionVar()), 16u);
  }

  /// The first phases of `empty` count as complete: the producer begins with parity 1.
  static Value positions(ThreadBuilder &t) {
    Value all = t.makeWords(kPositions);
    for (int word = 0; word < kPositions; ++word)
      t.b.create<LLVM::StoreOp>(t.loc, t.i32(word == kFillParity),
                                t.offset(all, int64_t(4) * word));
    return all;
  }

  /// The pipe in the CTA whose rank in the cluster is this lane's number.
  static Value there(ThreadBuilder &t, Value base, PipeType type) {
    Value here = t.b.create<LLVM::PtrToIntOp>(t.loc, t.b.getI32Type(), base);
    return type.getCtas() > 1 ? t.instructions.mapToCta(here, t.context.lane) : here;
  }

  void init(ThreadBuilder &t, Value barriers, int64_t slots, int64_t ctas) const {
    SmallVector<int64_t> arrivals(static_cast<size_t>(slots), 1);
    arrivals.append(static_cast<size_t>(slots), t.context.warps * ctas);
    t.makeBarriers(barriers, arrivals);
    if (ctas > 1)
      t.instructions.meetInCluster(/*isWhole=*/true);
    else
      t.instructions.barrier(/*ofAll=*/true);
  }
};

struct RolesPattern : TilePattern<RolesOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(RolesOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    RoleRegisters registers = registersOf(op);
    Value isProducer = b.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::uge,
                                               context_.warp, t.i32(context_.warps));
    auto roles = b.create<scf::IfOp>(op.getLoc(), isProducer, /*withElseRegion=*/true);
    b.setInsertionPointToStart(roles.thenBlock());
    if (registers.areHanded())
      t.instructions.leaveRegisters(registers.producing);
    Value produces = isOfWarp(op) ? isWarp(t, context_.warps) : isThread(t, context_.warps);
    auto thread = b.create<scf::IfOp>(op.getLoc(), produces);
    b.setInsertionPointToStart(thread.thenBlock());
    bool inRegion = isRegion(op->getParentOfType<func::FuncOp>());
    if (inRegion) // TMA sees what other regions wrote
      t.instructions.fenceAsyncProxy();
    b.inlineBlockBefore(&op.getProducer().front(), thread.thenBlock()->getTerminator());
    inlineNotifier(t, op, thread);
    b.setInsertionPointToStart(roles.elseBlock());
    if (registers.areHanded())
      t.instructions.takeRegisters(registers.computing);
    bool storesByTma = false;
    op.getConsumer().walk([&](TmaStoreOp) { storesByTma = true; });
    if (op.getConsumer()
            .walk([](PingPongWaitOp) { return WalkResult::interrupt(); })
            .wasInterrupted())
      startPingPong(t);
    b.inlineBlockBefore(&op.getConsumer().front(), roles.elseBlock()->getTerminator());
    b.setInsertionPoint(roles.elseBlock()->getTerminator());
    if (storesByTma)
      t.instructions.waitStores();
    if (inRegion)
      leaveRegion(t, roles, registers);
    // No CTA leaves while others may reach into its shared memory.
    b.setInsertionPointAfter(roles);
    if (op->getParentOfType<func::FuncOp>()->hasAttr(kClusterAttr))
      t.instructions.meetInCluster(/*isWhole=*/false);
    b.eraseOp(op);
    return success();
  }

private:
  /// Whether the lanes of a warp produce together: each copies a piece.
  static bool isOfWarp(RolesOp op) {
    return op.getProducer()
        .walk([](LoadRowsOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  }

  /// A thread of the warp behind the producer's notifies; all of them do where they copy tiles.
  void inlineNotifier(ThreadBuilder &t, RolesOp op, scf::IfOp producer) const {
    if (op.getNotifier().empty())
      return;
    t.b.setInsertionPointAfter(producer);
    bool moves = op.getNotifier()
                     .walk([](NotifyPostsOp posts) {
                       return posts.getMoves() ? WalkResult::interrupt() : WalkResult::advance();
                     })
                     .wasInterrupted();
    Value notifies = moves ? isWarp(t, context_.warps + 1) : isThread(t, context_.warps + 1);
    auto thread = t.b.create<scf::IfOp>(t.loc, notifies);
    static_cast<ConversionPatternRewriter &>(t.b).inlineBlockBefore(
        &op.getNotifier().front(), thread.thenBlock()->getTerminator());
  }

  /// All warps meet, and have as many registers again: those of a warpgroup must have met since they
  /// handed some over.
  static void leaveRegion(ThreadBuilder &t, scf::IfOp roles, const RoleRegisters &registers) {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPoint(roles.elseBlock()->getTerminator());
    t.instructions.barrier(/*ofAll=*/true);
    if (registers.areHanded())
      t.instructions.leaveRegisters(registers.launched);
    t.b.setInsertionPoint(roles.thenBlock()->getTerminator());
    t.instructions.barrier(/*ofAll=*/true);
    if (registers.areHanded())
      t.instructions.takeRegisters(registers.launched);
  }

  void startPingPong(ThreadBuilder &t) const {
    Value isLast = t.b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::uge, context_.warp,
                                             t.i32(context_.warps - kWarpgroup));
    auto branch = t.b.create<scf::IfOp>(t.loc, isLast);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(branch.thenBlock());
    t.instructions.arriveAtBarrier(pingPongBarrier(t, context_.warps, true), kPingPongThreads);
  }

  /// Whether the tiles that threads hold leave them registers.
  static bool hasSmallTiles(RolesOp op) {
    constexpr int64_t kMost = 32, kWord = 32; // words of a tile; bits
    WalkResult result = op.getConsumer().walk([](Operation *inner) {
      for (Value tile : inner->getResults())
        if (isTile(tile) && !isShared(tileOf(tile))) {
          auto places = Distribution::of(core::layoutOf(tileOf(tile)), shapeOf(tileOf(tile)));
          if (places->registers() * tileOf(tile).getElementTypeBitWidth() > kMost * kWord)
            return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    return !result.wasInterrupted();
  }

  RoleRegisters registersOf(RolesOp op) const {
    int64_t few = kRegistersOfLoads;
    op.getProducer().walk([&](Operation *inner) {
      few = std::max(few, isa<LoadRowsOp>(inner)           ? kRegistersOfTasks
                          : isa<WaitOp, GateWaitOp>(inner) ? kRegistersOfWaits
                                                           : 0);
    });
    int64_t ctas = ctasPerSmOf(op->getParentOfType<func::FuncOp>());
    int64_t idle = context_.ctaWarps - context_.warps - context_.producerWarps;
    auto leaving = [&](int64_t registers) {
      return roleRegisters(chipOf(context_).share(ctas), context_.warps, registers, idle);
    };
    RoleRegisters spared = leaving(std::max(few, kRegistersToSpare));
    return hasSmallTiles(op) && spared.computing >= kRegistersOfSmallTiles ? spared : leaving(few);
  }
};

struct AcquirePattern : TilePattern<AcquireOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(AcquireOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    PipeType type = op.getPipe().getType();
    ThreadBuilder t(b, op.getLoc(), context_);
    Pipe pipe(t, type, adaptor.getPipe());
    Value slot = pipe.get(kFillSlot);
    t.instructions.waitBarrier(pipe.empty(slot), pipe.get(kFillParity));
    int64_t bytes = 0;
    for (RankedTensorType tile : type.getTiles())
      bytes += broughtBytes(tile);
    auto made = op.getPipe().getDefiningOp<PipeOp>();
    bool areFitted = made && !made.getRows().empty();
    if (op.getAhead() || areFitted) {
      Value all = areFitted ? bytesOfRows(t, made) : t.i32(bytes);
      if (op.getAhead())
        all = bytesLeft(t, pipe, all, *op.getAhead());
      t.instructions.arriveExpecting(pipe.full(slot), all);
    } else {
      t.instructions.arriveExpecting(pipe.full(slot), bytes);
    }
    pipe.advance(kFillSlot, kFillParity);
    b.replaceOpWithNewOp<arith::IndexCastUIOp>(op, b.getIndexType(), slot);
    return success();
  }

private:
  /// Those of a slot.
  static Value bytesOfRows(ThreadBuilder &t, PipeOp made) {
    Value bytes = t.i32(0);
    for (auto [tile, rows] : llvm::zip(made.getType().getTiles(), made.getRows())) {
      Value count = t.b.create<arith::IndexCastUIOp>(t.loc, t.b.getI32Type(), rows);
      bytes = t.add(bytes, t.mul(count, t.i32(broughtBytes(tile) / tile.getDimSize(0))));
    }
    return bytes;
  }

  /// Those of a slot that are not there or on their way.
  static Value bytesLeft(ThreadBuilder &t, Pipe &pipe, Value all, int64_t ahead) {
    Value count = pipe.get(kAhead);
    Value isAhead = t.b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::ne, count, t.i32(0));
    Value taken = t.b.create<arith::ExtUIOp>(t.loc, t.b.getI32Type(), isAhead);
    pipe.set(kAhead, t.b.create<arith::SubIOp>(t.loc, count, taken));
    pipe.set(kIsAhead, taken);
    Value rest = t.b.create<arith::SubIOp>(t.loc, all, t.i32(ahead));
    return t.b.create<arith::SelectOp>(t.loc, isAhead, rest, all);
  }
};

struct ExpectPattern : TilePattern<ExpectOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ExpectOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    Pipe pipe(t, op.getPipe().getType(), adaptor.getPipe());
    Value slot = pipe.get(kAhead);
    t.instructions.expect(pipe.full(slot), t.i32(static_cast<int64_t>(op.getBytes())));
    pipe.set(kAhead, t.add(slot, t.i32(1)));
    b.replaceOpWithNewOp<arith::IndexCastUIOp>(op, b.getIndexType(), slot);
    return success();
  }
};

struct AheadPattern : TilePattern<AheadOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(AheadOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    Value isChosen = op.getConsumers()
                         ? b.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::ult,
                                                   context_.warp, t.i32(context_.warps))
                         : isThread(t, context_.warps);
    auto chosen = b.create<scf::IfOp>(op.getLoc(), isChosen);
    b.inlineBlockBefore(&op.getBody().front(), chosen.thenBlock()->getTerminator());
    b.eraseOp(op);
    return success();
  }
};

struct PrefetchMapsPattern : TilePattern<PrefetchMapsOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(PrefetchMapsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    if (!op->getParentOfType<RolesOp>())
      b.setInsertionPointToStart(
          b.create<scf::IfOp>(op.getLoc(), isThread(t, context_.warps)).thenBlock());
    for (Value map : adaptor.getMaps())
      t.instructions.prefetchTensorMap(map);
    b.eraseOp(op);
    return success();
  }
};

struct TmaLoadPattern : EffectPattern<TmaLoadOp> {
  using EffectPattern::EffectPattern;
  void write(TmaLoadOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    OpBuilder &b = t.b;
    Pipe pipe(t, op.getPipe().getType(), adaptor.getPipe());
    Value slot = b.create<arith::IndexCastUIOp>(op.getLoc(), b.getI32Type(), op.getSlot());
    Copied copied{op, op.getMap(), pipe.tile(slot, op.getTile()), pipe.full(slot),
                  t.placeOf(op.getView(), op.getCoords(), op.getShape(), op.getPage())};
    OpBuilder::InsertionGuard guard(b);
    if (op.getUnlessAhead()) {
      Value isMissing = b.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::eq,
                                                pipe.get(kIsAhead), t.i32(0));
      b.setInsertionPointToStart(b.create<scf::IfOp>(op.getLoc(), isMissing).thenBlock());
    }
    if (op.getRows())
      copyRows(t, copied, adaptor.getRows());
    else
      copyTile(t, copied);
  }

private:
  /// A tile, and where it comes from and goes to.
  struct Copied {
    TmaLoadOp op;
    Value map, place, full;
    SmallVector<Value> coords;

    RankedTensorType tile() { return op.getPipe().getType().getTiles()[op.getTile()]; }
    /// The same from another row on.
    Copied from(ThreadBuilder &t, Value row) {
      ArgumentView view = *ArgumentView::of(op.getView());
      size_t across = view.dimensions.size() - 1 -
                      view.dimensionOf(static_cast<unsigned>(op.getCoords().size()) - 2);
      Copied result = *this;
      result.coords[across] = t.add(coords[across], row);
      result.place = t.offset(place, t.mul(row, t.i32(kPanelBytes)));
      return result;
    }
  };

  /// All of it, or this CTA's part of the rows.
  static void copyTile(ThreadBuilder &t, Copied copied) {
    TmaLoadOp op = copied.op;
    int64_t ctas = op.getShared() ? op.getPipe().getType().getCtas() : 1;
    if (ctas > 1)
      copied = copied.from(
          t, t.mul(t.instructions.clusterRank(), t.i32(copied.tile().getDimSize(0) / ctas)));
    copyPanels(t, copied, ctas);
  }

  static void copyPanels(ThreadBuilder &t, Copied copied, int64_t ctas) {
    RankedTensorType tile = copied.tile();
    int64_t width = kPanelBytes / storageBytes(tile.getElementType());
    Value first = copied.coords[0];
    for (int64_t panel = 0; panel < tile.getDimSize(1) / width; ++panel) {
      copied.coords[0] = t.add(first, t.i32(panel * width));
      t.instructions.copyTensor(t.offset(copied.place, panel * tile.getDimSize(0) * kPanelBytes),
                                copied.map, copied.coords, copied.full, ctas,
                                copied.op->hasAttr(kEvictFirstAttr));
    }
  }

  /// The boxes that have some of the rows, where these are not all. Bytes of the others do not come.
  static void copyRows(ThreadBuilder &t, Copied copied, Value rows) {
    OpBuilder &b = t.b;
    RankedTensorType tile = copied.tile();
    int64_t height = tile.getDimSize(0);
    Value isWhole =
        b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::sge, rows, t.index(height));
    auto branch = b.create<scf::IfOp>(t.loc, isWhole, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    copyTile(t, copied);
    b.setInsertionPointToStart(branch.elseBlock());
    Value some = b.create<arith::MaxSIOp>(t.loc, rows, t.index(0));
    Value count = b.create<arith::CeilDivUIOp>(t.loc, some, t.index(kPartRows));
    count = b.create<arith::IndexCastUIOp>(t.loc, b.getI32Type(), count);
    Value left = b.create<arith::SubIOp>(t.loc, t.i32(height / kPartRows), count);
    t.instructions.forgo(copied.full, t.mul(left, t.i32(broughtBytes(tile) / height * kPartRows)));
    auto loop = b.create<scf::ForOp>(t.loc, t.i32(0), count, t.i32(1));
    b.setInsertionPointToStart(loop.getBody());
    copied.map = copied.op.getPartMap();
    copyPanels(t, copied.from(t, t.mul(loop.getInductionVar(), t.i32(kPartRows))), 1);
  }
};

struct ReceivePattern : TilePattern<ReceiveOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ReceiveOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    Pipe pipe(t, op.getPipe().getType(), adaptor.getPipe());
    Value slot = pipe.get(kTakeSlot);
    t.instructions.waitBarrier(pipe.full(slot), pipe.get(kTakeParity));
    SmallVector<Value> tiles;
    for (size_t n = 0; n < op.getNumResults(); ++n)
      tiles.push_back(pipe.tile(slot, n));
    pipe.advance(kTakeSlot, kTakeParity);
    b.replaceOp(op, tiles);
    return success();
  }
};

/// Every warpgroup writes the zeros that its own products are to see.
struct ClipPattern : TilePattern<ClipOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ClipOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    RankedTensorType tile = tileOf(op.getTile());
    int64_t height = tile.getDimSize(0);
    int64_t panels = tile.getDimSize(1) * storageBytes(tile.getElementType()) / kPanelBytes;
    Value rows = b.create<arith::MaxSIOp>(op.getLoc(), op.getRows(), t.index(0));
    Value isRagged =
        b.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::slt, rows, t.index(height));
    auto branch = b.create<scf::IfOp>(op.getLoc(), isRagged);
    b.setInsertionPointToStart(branch.thenBlock());
    Value first = b.create<arith::IndexCastOp>(op.getLoc(), b.getI32Type(), rows);
    for (int64_t panel = 0; panel < panels; ++panel)
      clear(t, t.offset(adaptor.getTile(), panel * height * kPanelBytes), first, height);
    t.instructions.fenceShared();
    t.instructions.meet(ownBarrier(t, context_.warps), kWarpgroup * kLanes);
    b.replaceOp(op, adaptor.getTile());
    return success();
  }

private:
  /// Zeros rows of a panel, 16 bytes a thread at a time.
  static void clear(ThreadBuilder &t, Value panel, Value first, int64_t height) {
    constexpr int64_t kChunk = 16, kChunks = kPanelBytes / kChunk;
    OpBuilder &b = t.b;
    Value thread =
        t.add(t.mul(t.digit({Axis::warp, 1, kWarpgroup, 1}), t.i32(kLanes)), t.context.lane);
    Value from = t.add(t.mul(first, t.i32(kChunks)), thread);
    auto loop =
        b.create<scf::ForOp>(t.loc, from, t.i32(height * kChunks), t.i32(kWarpgroup * kLanes));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value place = t.offset(panel, t.mul(loop.getInductionVar(), t.i32(kChunk)));
    auto words = VectorType::get({kChunk / 4}, b.getI32Type());
    Value zeros = b.create<arith::ConstantOp>(t.loc, b.getZeroAttr(words));
    b.create<LLVM::StoreOp>(t.loc, zeros, place, static_cast<unsigned>(kChunk));
  }
};

struct PingPongWaitPattern : EffectPattern<PingPongWaitOp> {
  using EffectPattern::EffectPattern;
  void write(PingPongWaitOp, OpAdaptor, ThreadBuilder &t) const override {
    t.instructions.meet(pingPongBarrier(t, context_.warps, false), kPingPongThreads);
  }
};

struct PingPongArrivePattern : EffectPattern<PingPongArriveOp> {
  using EffectPattern::EffectPattern;
  void write(PingPongArriveOp, OpAdaptor, ThreadBuilder &t) const override {
    t.instructions.arriveAtBarrier(pingPongBarrier(t, context_.warps, true), kPingPongThreads);
  }
};

struct ReleasePattern : EffectPattern<ReleaseOp> {
  using EffectPattern::EffectPattern;
  void write(ReleaseOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    Pipe(t, op.getPipe().getType(), adaptor.getPipe()).release(op.getCondition());
  }
};

struct ClusterRankPattern : TilePattern<ClusterRankOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ClusterRankOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    ThreadBuilder t(b, op.getLoc(), context_);
    b.replaceOpWithNewOp<arith::IndexCastUIOp>(op, b.getIndexType(), t.instructions.clusterRank());
    return success();
  }
};

} // namespace

void addRolePatterns(RewritePatternSet &patterns, const TypeConverter &types,
                     const ThreadContext &context) {
  patterns.add<PipePattern, RolesPattern, AcquirePattern, ExpectPattern, AheadPattern,
               PrefetchMapsPattern, TmaLoadPattern, ReceivePattern, ClipPattern,
               PingPongWaitPattern, PingPongArrivePattern, ReleasePattern, ClusterRankPattern>(
      types, patterns.getContext(), context);
}

} // namespace ditron::nvidia
