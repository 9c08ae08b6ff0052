// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/transforms/FitLayouts.h"
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/analysis/LayoutRelations.h"
#include "ditron/targets/gpu/analysis/PackedTiles.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <map>

using namespace mlir;

namespace ditron::gpu {
namespace {

/// Writes an assignment into the types, and conversions where operands have other layouts than they
/// are wanted in.
class Rewriter {
public:
  Rewriter(func::FuncOp function, llvm::function_ref<const Layout &(Value)> assigned,
           Threads threads, const Products &products)
      : function_(function), assigned_(assigned), threads_(threads), products_(products),
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
      const Layout &layout = assigned_(tiles.front());
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
      value.setType(core::withLayout(tileOf(value), assigned_(value)));
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
          left ? *left : sharedRows(shapeOf(tile), core::elementBytes(tile.getElementType())));
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
    int64_t vector = elementsOfAccess(tile, accessBytes(store.getView()));
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
  llvm::function_ref<const Layout &(Value)> assigned_; ///< to a tile
  Threads threads_;
  const Products &products_;
  std::map<int64_t, Layout> packed_; ///< of packed tiles, by their number
  OpBuilder b_;
};

} // namespace

void fitLayouts(func::FuncOp function, llvm::function_ref<const Layout &(Value)> layoutOf,
                Threads threads, const Products &products) {
  Rewriter(function, layoutOf, threads, products).run();
}

} // namespace ditron::gpu
