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
#include "ditron/targets/gpu/analysis/PackedTiles.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
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

using core::elementBytes;

/// Elements of an access of `bytes` bytes.
int64_t vectorOf(RankedTensorType tile, int64_t bytes = kAccessBytes) {
  return std::max<int64_t>(1, bytes / elementBytes(tile.getElementType()));
}

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

std::optional<Layout> transposed(const Layout &layout, RankedTensorType tile,
                                 ArrayRef<int64_t> permutation) {
  SmallVector<int> dims(permutation.begin(), permutation.end());
  return core::transpose(layout, shapeOf(tile), std::span<const int>(dims.data(), dims.size()));
}

SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result(permutation.size());
  for (auto [n, dim] : llvm::enumerate(permutation))
    result[dim] = static_cast<int64_t>(n);
  return result;
}

/// The layout that the source of a broadcast has, given its result's.
std::optional<Layout> broadcastSource(core::BroadcastOp op, std::optional<Layout> layout) {
  RankedTensorType source = tileOf(op.getSource());
  Shape shape = shapeOf(tileOf(op.getResult()));
  for (size_t dim = 0; layout && dim < shape.size(); ++dim)
    if (source.getDimSize(dim) != shape[dim]) {
      layout = collapsed(*layout, shape, static_cast<int64_t>(dim));
      shape[dim] = 1;
    }
  return layout;
}

/// Each thread holds whole groups of packets, neighbouring lanes neighbouring ones.
Layout inGroups(RankedTensorType tile, Threads threads) {
  return blocked(shapeOf(tile), lower::PacketLayout(tile).run(), threads);
}

/// Whether each thread holds whole groups of packets.
bool isInGroups(RankedTensorType tile) {
  int64_t run = lower::PacketLayout(tile).run();
  return Distribution::of(core::layoutOf(tile), shapeOf(tile))->run(run) == run;
}

/// Whether warps meet to combine the elements of a tile along an axis. Then each thread can collect any elements of the
/// result.
bool meetFor(RankedTensorType source, const Layout &layout, int64_t axis) {
  auto places = Distribution::of(layout, shapeOf(source));
  return places && warpsAlong(*places, static_cast<size_t>(axis)) > 1;
}

int64_t registersOf(RankedTensorType tile, const Layout &layout) {
  auto places = Distribution::of(layout, shapeOf(tile));
  return places ? places->registers() : INT64_MAX;
}

/// Which layout each tile gets.
class Assignment {
public:
  Assignment(Threads threads, const Products &products) : threads_(threads), products_(products) {}

  void run(func::FuncOp function) {
    SmallVector<Value> tiles = tilesOf(function);
    packed_ = packedTiles(function);
    function.walk([&](core::DotOp dot) { shareOperands(dot); });
    function.walk([&](core::DotOp dot) { anchor(dot); });
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
  Layout dealt(Value tile) const {
    constexpr int64_t kMany = 64; // registers of a thread
    Shape shape = shapeOf(tileOf(tile));
    auto registersOf = [&](const Layout &layout) {
      return Distribution::of(layout, shape)->registers();
    };
    int64_t vector = vectorOf(tileOf(tile), accessBytesOf(tile));
    WarpsTake first = isSummedBehindLoop(tile) ? WarpsTake::columns : WarpsTake::rows;
    Layout layout = blocked(shape, vector, threads_, first);
    while (registersOf(layout) > kMany && (vector /= 2) > 0) {
      Layout shorter = blocked(shape, vector, threads_, first);
      if (registersOf(shorter) >= registersOf(layout))
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

  void anchor(core::DotOp dot) {
    assign(dot.getResult(), products_.accumulator(dot, threads_));
    spread();
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

  void assign(Value tile, const std::optional<Layout> &layout) {
    if (!isTile(tile) || isKnown(tile) || !layout ||
        !(layout->uses(Axis::m) || Distribution::of(*layout, shapeOf(tileOf(tile)))))
      return;
    layouts_[tile] = layout->canonical();
    queueAround(tile);
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
  /// as there can be. Each warp would hold all of them otherwise. Whether there was one.
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
    for (int64_t vector = vectorOf(tile); vector > 0; vector /= 2) {
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

/// Writes an assignment into the types, and conversions where operands have other layouts than they
/// are wanted in.
class Rewriter {
public:
  Rewriter(func::FuncOp function, const Assignment &assignment, Threads threads,
           const Products &products)
      : function_(function), assignment_(assignment), threads_(threads), products_(products),
        b_(function.getContext()) {}

  void run() {
    choosePacked();
    function_.walk([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (Value argument : region.getArguments())
          setType(argument);
      for (Value result : op->getResults())
        setType(result);
      if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && isTile(constant.getType()))
        retype(constant);
    });
    SmallVector<Operation *> ops;
    function_.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      fitOperands(op);
  }

private:
  /// Packed tiles lie as the threads hold them; those that threads hold several times do not.
  void choosePacked() {
    for (auto &[number, tiles] : packedTiles(function_)) {
      const Layout &layout = assignment_.of(tiles.front());
      if (canPack(layout, tileOf(tiles.front()), threads_))
        packed_.insert({number, layout});
    }
    function_.walk([&](Operation *op) {
      if (auto number = packedNumber(op); number && !packed_.contains(*number))
        op->removeAttr(device::kPackedAttr);
    });
  }

  void setType(Value value) {
    if (isTile(value))
      value.setType(core::withLayout(tileOf(value), assignment_.of(value)));
  }

  void retype(arith::ConstantOp constant) {
    auto elements = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (elements)
      constant.setValueAttr(DenseElementsAttr::get(cast<ShapedType>(constant.getType()),
                                                   elements.getSplatValue<Attribute>()));
  }

  Layout layoutOf(Value tile) { return core::layoutOf(tileOf(tile)); }

  /// The tile in another layout, for one of its readers.
  Value converted(Value tile, const Layout &layout, Operation *reader) {
    RankedTensorType type = core::withLayout(tileOf(tile), layout);
    if (tile.getType() == type)
      return tile;
    b_.setInsertionPoint(reader);
    Operation *op = tile.getDefiningOp();
    bool isMadeAnywhere = isa_and_present<arith::ConstantOp, tensor::SplatOp, core::IotaOp>(op) &&
                          !layout.uses(Axis::m);
    if (!isMadeAnywhere)
      return b_.create<core::ConvertLayoutOp>(reader->getLoc(), type, tile);
    Operation *copy = b_.clone(*op);
    copy->getResult(0).setType(type);
    if (auto constant = dyn_cast<arith::ConstantOp>(copy))
      retype(constant);
    return copy->getResult(0);
  }

  void fit(OpOperand &operand, const Layout &layout) {
    operand.set(converted(operand.get(), layout, operand.getOwner()));
  }

  /// Computes the result in the layout that follows from the operand's; readers get theirs.
  void fitResult(Operation *op, const Layout &layout) {
    Value result = op->getResult(0);
    Type wanted = result.getType();
    result.setType(core::withLayout(tileOf(result), layout));
    if (result.getType() == wanted)
      return;
    b_.setInsertionPointAfter(op);
    auto convert = b_.create<core::ConvertLayoutOp>(op->getLoc(), wanted, result);
    result.replaceAllUsesExcept(convert.getResult(), convert);
  }

  void fitLoop(scf::ForOp loop) {
    for (auto [n, result] : llvm::enumerate(loop.getResults())) {
      if (!isTile(result))
        continue;
      fit(loop.getInitArgsMutable()[n], layoutOf(result));
      fit(loop.getBody()->getTerminator()->getOpOperand(n), layoutOf(result));
    }
  }

  void fitBranch(scf::IfOp branch) {
    for (auto [n, result] : llvm::enumerate(branch.getResults()))
      for (Block *block : {branch.thenBlock(), branch.elseBlock()})
        if (isTile(result))
          fit(block->getTerminator()->getOpOperand(n), layoutOf(result));
  }

  void fitDot(core::DotOp dot) {
    for (unsigned n : {0, 1}) {
      RankedTensorType tile = tileOf(dot->getOperand(n));
      if (isShared(tile))
        continue;
      std::optional<Layout> left = n == 0 ? products_.left(tile, threads_) : std::nullopt;
      fit(dot->getOpOperand(n),
          left ? *left : sharedRows(shapeOf(tile), elementBytes(tile.getElementType())));
    }
    fit(dot.getAccMutable(), layoutOf(dot.getResult()));
  }

  /// A layout whose threads hold runs too short for wide accesses is changed before memory is
  /// written: by exchanges within quads of lanes, if that is enough.
  void fitStore(OpOperand &operand) {
    RankedTensorType tile = tileOf(operand.get());
    auto store = cast<core::StoreOp>(operand.getOwner());
    if (auto number = packedNumber(store))
      return fit(operand, packed_.at(*number));
    if (products_.stores(store, threads_))
      return;
    int64_t vector = vectorOf(tile, accessBytes(store.getView()));
    Layout wide = blocked(shapeOf(tile), vector, threads_);
    auto runOf = [&](const Layout &layout) {
      return Distribution::of(layout, shapeOf(tile))->run(vector);
    };
    if (runOf(wide) <= runOf(core::layoutOf(tile)))
      return;
    auto near = gathered(core::layoutOf(tile), shapeOf(tile), vector);
    if (near && runOf(*near) >= runOf(wide))
      fit(operand, *near);
    else if (!isSmall(tile))
      fit(operand, wide);
  }

  /// Whether a thread has a few elements of a small tile: writing them one by one takes less than a trip through
  /// shared memory would, between two barriers.
  static bool isSmall(RankedTensorType tile) {
    constexpr int64_t kFew = 4;
    return registersOf(tile, core::layoutOf(tile)) <= kFew;
  }

  /// Through shared memory, where the order of the elements is that of both shapes.
  void fitReshape(core::ReshapeOp op) {
    Layout layout = layoutOf(op.getResult());
    if (Distribution::of(layout, shapeOf(tileOf(op.getSource()))))
      return fit(op.getSourceMutable(), layout);
    Layout memory = Layout::rowMajor(shapeOf(tileOf(op.getSource())));
    fit(op.getSourceMutable(), memory);
    fitResult(op, memory);
  }

  void fitOperands(Operation *op) {
    if (isElementwise(op)) {
      for (OpOperand &operand : op->getOpOperands())
        if (isTile(operand.get()))
          fit(operand, layoutOf(op->getResult(0)));
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      fitLoop(loop);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      fitBranch(branch);
    } else if (auto dot = dyn_cast<core::DotOp>(op)) {
      fitDot(dot);
    } else if (auto store = dyn_cast<core::StoreOp>(op)) {
      fitStore(store.getTileMutable());
    } else if (auto reshape = dyn_cast<core::ReshapeOp>(op)) {
      fitReshape(reshape);
    } else if (auto transpose = dyn_cast<core::TransposeOp>(op)) {
      Value result = transpose.getResult();
      fit(transpose.getSourceMutable(),
          *transposed(layoutOf(result), tileOf(result), inverse(transpose.getPermutation())));
    } else if (auto broadcast = dyn_cast<core::BroadcastOp>(op)) {
      fit(broadcast.getSourceMutable(),
          *broadcastSource(broadcast, layoutOf(broadcast.getResult())));
    } else {
      fitOthers(op);
    }
  }

  void fitOthers(Operation *op) {
    if (auto number = packedNumber(op))
      fitResult(op, packed_.at(*number));
    else if (isa<core::ReduceOp, core::ReduceIndexOp>(op)) {
      RankedTensorType source = tileOf(op->getOperand(0));
      int64_t axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
      fitReduction(op, source, *collapsed(core::layoutOf(source), shapeOf(source), axis), axis);
    } else if (auto scan = dyn_cast<core::ScanOp>(op)) {
      fit(scan.getSourceMutable(), layoutOf(scan.getResult()));
    } else if (auto atomic = dyn_cast<core::AtomicAddOp>(op)) {
      fit(atomic.getTileMutable(), layoutOf(atomic.getOld()));
    } else if (auto gather = dyn_cast<core::GatherOp>(op)) {
      RankedTensorType tile = tileOf(gather.getTile());
      fit(gather.getRowsMutable(), *collapsed(core::layoutOf(tile), shapeOf(tile), 1));
    } else if (auto send = dyn_cast<SendOp>(op)) {
      RankedTensorType tile = tileOf(send.getTile());
      if (!isInGroups(tile))
        fit(send.getTileMutable(), inGroups(tile, threads_));
    } else if (auto receive = dyn_cast<ReceiveOp>(op)) {
      RankedTensorType tile = tileOf(receive.getTile());
      if (!isInGroups(tile))
        fitResult(op, inGroups(tile, threads_));
    } else if (auto scatter = dyn_cast<core::ScatterOp>(op)) {
      RankedTensorType tile = tileOf(scatter.getTile());
      fit(scatter.getRowsMutable(), *collapsed(core::layoutOf(tile), shapeOf(tile), 1));
    } else {
      fitPrescribed(op);
    }
  }

  /// Where warps meet, threads collect what is wanted of the result, unless that is more than they would have anyway.
  void fitReduction(Operation *op, RankedTensorType source, const Layout &layout, int64_t axis) {
    RankedTensorType result = tileOf(op->getResult(0));
    bool isCollected = isa<core::ReduceOp>(op) && meetFor(source, core::layoutOf(source), axis) &&
                       registersOf(result, core::layoutOf(result)) <= registersOf(result, layout);
    if (!isCollected)
      fitResult(op, layout);
  }

  void fitPrescribed(Operation *op) {
    std::map<void *, Layout> layouts;
    for (auto &[tile, layout] : products_.prescribed(op, threads_))
      layouts.insert({tile.getAsOpaquePointer(), layout.canonical()});
    for (OpOperand &operand : op->getOpOperands())
      if (auto found = layouts.find(operand.get().getAsOpaquePointer()); found != layouts.end())
        fit(operand, found->second);
    for (Value result : op->getResults())
      if (auto found = layouts.find(result.getAsOpaquePointer()); found != layouts.end())
        fitResult(op, found->second);
  }

  func::FuncOp function_;
  const Assignment &assignment_;
  Threads threads_;
  const Products &products_;
  std::map<int64_t, Layout> packed_; ///< of packed tiles, by their number
  OpBuilder b_;
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
    Rewriter(function, assignment, threads, *products).run();
  }
};

} // namespace
} // namespace ditron::gpu
