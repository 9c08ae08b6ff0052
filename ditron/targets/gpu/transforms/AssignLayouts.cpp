// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-assign-layouts: every tile gets a layout, and conversions stand where two meet.
//
//   %x = tile.load %X[%i, %j] : ... -> tensor<4x256xf32>
//   %m = tile.reduce max %x axis 1 : tensor<4x256xf32> -> tensor<4x1xf32>
//   %b = tile.broadcast %m : tensor<4x1xf32> -> tensor<4x256xf32>
// becomes
//   %x = tile.load %X[%i, %j] : ... -> tensor<4x256xf32, #tile.layout<"(4 : 1@warp, 2 : 4@reg,
//   ...">> %m = tile.reduce max %x axis 1 : ... -> tensor<4x1xf32, #tile.layout<"(4 : 1@warp |
//   replicate ...">> %b = tile.broadcast %m : ... -> tensor<4x256xf32, the layout of %x>
//
// Ops relate the layouts of their operands and results: elementwise they are the same, of a
// transposition the transposed ones, of a reduction or broadcast the collapsed ones. Where warps meet for a
// reduction, its result may have any layout: that of its readers, or one of few elements a thread. Anchors
// choose: products first, since tensor cores prescribe their fragments, then the largest tiles that
// memory is read into or written from, dealt so that accesses are wide. From an anchor the choice
// spreads along the relations, against the flow of data too; where it meets another one, a
// tile.convert_layout is put in. Tiles that only products read are put into shared memory as they
// are loaded. What products want, the target says (Products of GpuTarget.h).
// docs/rationale/gpu-layouts.md argues for this; test/targets/gpu/assign-layouts.mlir shows it.
#include "ditron/device/DistOps.h"
#include "ditron/lower/Packets.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/CoreSize.h"
#include "ditron/targets/gpu/analysis/LayoutRelations.h"
#include "ditron/targets/gpu/analysis/PackedTiles.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/FitLayouts.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include <map>

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// Of the memory that a tile is read from; the widest of all for a computed one.
int64_t accessBytesOf(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (auto load = dyn_cast_or_null<core::LoadOp>(op))
    return accessBytes(load.getView());
  if (auto gather = dyn_cast_or_null<core::GatherOp>(op))
    return accessBytes(gather.getView());
  if (auto atomic = dyn_cast_or_null<core::AtomicAddOp>(op))
    return accessBytes(atomic.getView());
  return kAccessBytes;
}

/// Which layout each tile gets.
class Assignment {
public:
  Assignment(Threads threads, const Products &products) : threads_(threads), products_(products) {}

  void run(func::FuncOp function) {
    SmallVector<Value> tiles = tilesOf(function);
    packed_ = packedTiles(function);
    function.walk([&](core::DotOp dot) { shareOperands(dot); });
    anchorProducts(function);
    function.walk([&](Operation *op) { anchorPrescribed(op); });
    function.walk([&](Operation *op) { anchorPackets(op); });
    std::multimap<std::tuple<bool, int64_t>, Value, std::greater<>> byWeight;
    for (Value tile : tiles)
      byWeight.emplace(weight(tile), tile);
    for (auto [weight, tile] : byWeight) {
      assign(tile, dealt(tile));
      spread();
    }
  }

  const Layout &of(Value tile) const { return layouts_.find(tile)->second; }
  bool isKnown(Value tile) const { return layouts_.contains(tile); }

private:
  /// In runs as wide as its memory allows; in shorter ones where few threads would have them all,
  /// as of extents with small powers of two in them.
  Layout dealt(Value value) const {
    constexpr int64_t kMany = 64; // registers of a thread
    RankedTensorType tile = tileOf(value);
    int64_t vector = elementsOfAccess(tile, accessBytesOf(value));
    WarpsTake first = isSummedBehindLoop(value) ? WarpsTake::columns : WarpsTake::rows;
    Layout layout = blocked(shapeOf(tile), vector, threads_, first);
    while (registersOf(tile, layout) > kMany && (vector /= 2) > 0) {
      Layout shorter = blocked(shapeOf(tile), vector, threads_, first);
      if (registersOf(tile, shorter) >= registersOf(tile, layout))
        break;
      layout = shorter;
    }
    return layout;
  }

  static SmallVector<Value> tilesOf(func::FuncOp function) {
    SmallVector<Value> tiles;
    function.walk([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          llvm::append_range(tiles, llvm::make_filter_range(block.getArguments(),
                                                            [](Value v) { return isTile(v); }));
      llvm::append_range(
          tiles, llvm::make_filter_range(op->getResults(), [](Value v) { return isTile(v); }));
    });
    return tiles;
  }

  /// Tiles of memory come before computed ones, large ones before small ones.
  static std::tuple<bool, int64_t> weight(Value tile) {
    return {isa_and_present<core::LoadOp, core::GatherOp, core::AtomicAddOp>(tile.getDefiningOp()),
            tileOf(tile).getNumElements()};
  }

  void shareOperands(core::DotOp dot) {
    for (Value operand : {dot.getLhs(), dot.getRhs()}) {
      Value origin = untransposed(operand);
      if (!origin.getDefiningOp<core::LoadOp>() || !onlyReadByDots(origin) || isKnown(origin))
        continue;
      layouts_[origin] = products_.operand(tileOf(origin));
      queueAround(origin);
    }
    spread();
  }

  /// All of them before any choice spreads: from one product it would reach another, whose
  /// fragments are others.
  void anchorProducts(func::FuncOp function) {
    SmallVector<core::DotOp> dots;
    function.walk([&](core::DotOp dot) { dots.push_back(dot); });
    for (core::DotOp dot : dots)
      if (std::optional<Layout> layout = products_.accumulator(dot, threads_);
          layout && isPossible(dot.getResult(), *layout))
        layouts_[dot.getResult()] = layout->canonical();
    for (core::DotOp dot : dots) {
      if (isKnown(dot.getResult()))
        queueAround(dot.getResult());
      spread();
    }
  }

  /// What an op of the target's own prescribes.
  void anchorPrescribed(Operation *op) {
    for (auto &[tile, layout] : products_.prescribed(op, threads_))
      assign(tile, layout);
    spread();
  }

  /// What is sent or received, in groups of packets.
  void anchorPackets(Operation *op) {
    Value tile;
    if (auto send = dyn_cast<SendOp>(op))
      tile = send.getTile();
    else if (auto receive = dyn_cast<ReceiveOp>(op))
      tile = receive.getTile();
    if (!tile || isKnown(tile))
      return;
    assign(tile, inGroups(tileOf(tile), threads_));
    spread();
  }

  static bool isPossible(Value tile, const Layout &layout) {
    return layout.uses(Axis::m) || Distribution::of(layout, shapeOf(tileOf(tile)));
  }

  void assign(Value tile, const std::optional<Layout> &layout) {
    if (!tile || !isTile(tile) || isKnown(tile) || !layout || !isPossible(tile, *layout))
      return;
    layouts_[tile] = layout->canonical();
    queueAround(tile);
    assign(tiedOfLoop(tile), layout);
  }

  /// What a loop carries has one type; null of other values. An argument of the loop for its result, and the other way round.
  static Value tiedOfLoop(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      return loop ? loop.getTiedLoopResult(argument) : Value();
    }
    auto loop = value.getDefiningOp<scf::ForOp>();
    return loop ? loop.getTiedLoopRegionIterArg(cast<OpResult>(value)) : Value();
  }

  void queueAround(Value tile) {
    if (Operation *op = tile.getDefiningOp())
      queue_.insert(op);
    else
      queue_.insert(tile.getParentBlock()->getParentOp());
    for (Operation *user : tile.getUsers())
      queue_.insert(isa<scf::YieldOp>(user) ? user->getParentOp() : user);
  }

  void spread() {
    do {
      while (!queue_.empty())
        relate(queue_.pop_back_val());
    } while (collect());
  }

  /// The result of a reduction for which warps meet, and whose layout nothing else says: as few elements a thread
  /// as there can be, but pairs, which are read and written together. Each warp would hold all of them otherwise.
  /// Whether there was one.
  bool collect() {
    while (!collected_.empty()) {
      core::ReduceOp op = collected_.pop_back_val();
      if (isKnown(op.getResult()))
        continue;
      assign(op.getResult(), collectedOf(op));
      return true;
    }
    return false;
  }

  Layout collectedOf(core::ReduceOp op) const {
    RankedTensorType tile = tileOf(op.getResult());
    Layout best = *collapsed(of(op.getSource()), shapeOf(tileOf(op.getSource())),
                             static_cast<int64_t>(op.getAxis()));
    int64_t shortest = tile.getNumElements() > threads_.lanes ? 2 : 1;
    for (int64_t vector = elementsOfAccess(tile); vector >= shortest; vector /= 2) {
      Layout layout = blocked(shapeOf(tile), vector, threads_);
      if (registersOf(tile, layout) < registersOf(tile, best))
        best = layout;
    }
    return best;
  }

  /// Tiles of one layout: whoever has one gives it to the others.
  void unify(ArrayRef<Value> tiles) {
    auto first = llvm::find_if(tiles, [&](Value tile) {
      return isTile(tile) && isKnown(tile) && !of(tile).uses(Axis::m);
    });
    if (first == tiles.end())
      return;
    Layout layout = of(*first);
    for (Value tile : tiles)
      assign(tile, layout);
  }

  void relate(Operation *op) {
    if (isElementwise(op)) {
      SmallVector<Value> tiles(op->getOperands());
      tiles.push_back(op->getResult(0));
      return unify(tiles);
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument, yielded, result] :
           llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(),
                     loop.getResults()))
        unify({argument, result, yielded, init});
    } else if (auto branch = dyn_cast<scf::IfOp>(op); branch && branch->getNumResults()) {
      for (auto [result, yes, no] : llvm::zip(branch.getResults(), branch.thenYield().getOperands(),
                                              branch.elseYield().getOperands()))
        unify({result, yes, no});
    } else if (auto dot = dyn_cast<core::DotOp>(op)) {
      unify({dot.getResult(), dot.getAcc()});
    } else if (auto reshape = dyn_cast<core::ReshapeOp>(op)) {
      unify({reshape.getSource(), reshape.getResult()});
    } else if (auto scan = dyn_cast<core::ScanOp>(op)) {
      unify({scan.getSource(), scan.getResult()});
    } else if (auto atomic = dyn_cast<core::AtomicAddOp>(op)) {
      unify({atomic.getTile(), atomic.getOld()});
    } else if (auto number = packedNumber(op)) {
      unify(packed_[*number]); // none, where some are elsewhere
    } else {
      relateShapes(op);
    }
  }

  void relateShapes(Operation *op) {
    if (auto transpose = dyn_cast<core::TransposeOp>(op)) {
      Value source = transpose.getSource(), result = transpose.getResult();
      ArrayRef<int64_t> permutation = transpose.getPermutation();
      if (isKnown(source))
        assign(result, transposed(of(source), tileOf(source), permutation));
      else if (isKnown(result))
        assign(source, transposed(of(result), tileOf(result), inverse(permutation)));
    } else if (auto broadcast = dyn_cast<core::BroadcastOp>(op)) {
      if (isKnown(broadcast.getResult()))
        assign(broadcast.getSource(), broadcastSource(broadcast, of(broadcast.getResult())));
    } else if (isa<core::ReduceOp, core::ReduceIndexOp>(op)) {
      Value source = op->getOperand(0);
      int64_t axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
      auto reduce = dyn_cast<core::ReduceOp>(op);
      if (isKnown(source) && reduce && meetFor(tileOf(source), of(source), axis))
        collected_.insert(reduce);
      else if (isKnown(source))
        assign(op->getResult(0), collapsed(of(source), shapeOf(tileOf(source)), axis));
    } else if (auto gather = dyn_cast<core::GatherOp>(op)) {
      relateRows(gather.getTile(), gather.getRows());
    } else if (auto scatter = dyn_cast<core::ScatterOp>(op)) {
      relateRows(scatter.getTile(), scatter.getRows());
    }
  }

  void relateRows(Value tile, Value rows) {
    if (isKnown(tile))
      assign(rows, collapsed(of(tile), shapeOf(tileOf(tile)), 1));
  }

  Threads threads_;
  const Products &products_;
  PackedTiles packed_;
  llvm::DenseMap<Value, Layout> layouts_;
  llvm::SetVector<Operation *> queue_;
  llvm::SetVector<core::ReduceOp> collected_; ///< whose source has a layout
};

/// A region has no more than its CTA.
int64_t warpsFor(func::FuncOp function, const Traits &chip) {
  int64_t count = chooseWarps(function, chip);
  auto most = function->getAttrOfType<IntegerAttr>(kMostWarpsAttr);
  return most ? std::min(count, int64_t(llvm::bit_floor(uint64_t(most.getInt())))) : count;
}

class AssignLayouts : public impl::AssignLayoutsBase<AssignLayouts> {
public:
  using AssignLayoutsBase::AssignLayoutsBase;

private:
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    const GpuTarget *target = targetNamed(targetName, function);
    if (!target)
      return signalPassFailure();
    const Traits &chip = target->traits();
    CompileRequest request{.schedule = {.warps = int(warps), .ctasPerSm = int(ctasPerSm)},
                           .tensorMaps = tensorMaps,
                           .tensorStores = tensorStores};
    std::unique_ptr<Products> products = target->products(function, request);
    int64_t count = products->warps() ? products->warps()
                    : warps           ? warps
                                      : warpsFor(function, chip);
    if (!llvm::isPowerOf2_64(static_cast<uint64_t>(count)) || count > chip.mostWarps) {
      function.emitError() << "a schedule of " << count
                           << " warps: expected a power of two, at most " << chip.mostWarps;
      return signalPassFailure();
    }
    Builder attributes(function);
    function->setAttr(kWarpsAttr, attributes.getI64IntegerAttr(count));
    int64_t ctas = ctasPerSm               ? ctasPerSm
                   : products->ctasPerSm() ? (isForAligned(function) ? products->ctasPerSm() : 1)
                   : products->producerWarps() ? 1 // CTAs with roles fill their SMs
                                               : chooseCtasPerSm(function, count, chip);
    function->setAttr(kCtasPerSmAttr, attributes.getI64IntegerAttr(ctas));
    if (int64_t producers = products->producerWarps())
      function->setAttr(kProducerWarpsAttr, attributes.getI64IntegerAttr(producers));
    Threads threads{count, chip.lanes};
    Assignment assignment(threads, *products);
    assignment.run(function);
    fitLayouts(
        function, [&](Value tile) -> const Layout & { return assignment.of(tile); }, threads,
        *products);
  }
};

} // namespace
} // namespace ditron::gpu
