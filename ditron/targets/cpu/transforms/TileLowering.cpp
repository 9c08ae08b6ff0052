// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/transforms/TileLowering.h"
#include "ditron/targets/cpu/transforms/EraseTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::cpu {

TileLowering::TileLowering(func::FuncOp function, Value arena, const VectorTarget &target)
    : function_(function), v_(OpBuilder(function.getContext()), function.getLoc(), target),
      buffers_(v_, arena), prefetches_(v_), emitter_(v_, buffers_, reads_),
      materialiser_(v_, buffers_, reads_, prefetches_, emitter_),
      stores_(v_, buffers_, reads_, prefetches_, emitter_), inlining_(v_, buffers_),
      rowFusion_(v_, function, buffers_, reads_, prefetches_, emitter_, materialiser_, stores_,
                 inlining_) {}

//===-- What is materialised ------------------------------------------------------------------===//

/// A tile that is its source's memory under another shape.
void TileLowering::reshape(Value tile) {
  Value operand = tile.getDefiningOp()->getOperand(0), source = buffers_.lookup(operand);
  if (!source) { // cheap to compute, and so nowhere yet
    source = buffers_.allocate(tileOf(operand));
    materialiser_.fill(operand, source);
  }
  ArrayRef<int64_t> extents = tileOf(tile).getShape();
  auto shape = MemRefType::get(extents, cast<MemRefType>(source.getType()).getElementType());
  SmallVector<OpFoldResult> sizes, strides;
  int64_t stride = 1;
  for (int64_t extent : llvm::reverse(extents)) {
    sizes.insert(sizes.begin(), v_.b.getIndexAttr(extent));
    strides.insert(strides.begin(), v_.b.getIndexAttr(stride));
    stride *= extent;
  }
  buffers_.bind(tile, v_.create<memref::ReinterpretCastOp>(shape, source, v_.b.getIndexAttr(0),
                                                           sizes, strides));
}

void TileLowering::materialise(Value tile) {
  if (movesElements(tile.getDefiningOp()))
    return reshape(tile);
  Value buffer = buffers_.destination(tile);
  if (!buffer)
    buffer = buffers_.allocate(tileOf(tile));
  if (core::ReduceOp reduce = inlining_.reductionOnTheWay(tile)) {
    Value reduced = buffers_.allocate(tileOf(reduce.getResult()));
    if (!rowFusion_.lower(reduce, buffer, reduced))
      materialiser_.reductions().lower(reduce, reduced, buffer);
    buffers_.bind(reduce.getResult(), reduced);
  } else {
    materialiser_.compute(tile, buffer);
  }
  buffers_.bind(tile, buffer);
}

//===-- The walk ------------------------------------------------------------------------------===//

/// Brings what a loop or branch yields into its buffers: first everything is computed, then
/// copied, since a value may read what another one replaces.
void TileLowering::lowerYield(Operation *yield, ArrayRef<Value> buffers) {
  auto restore = prefetches_.setAside();
  SmallVector<std::pair<Value, Value>> copies;
  for (auto [value, buffer] : llvm::zip_equal(yield->getOperands(), buffers)) {
    Value computed = buffers_.lookup(value);
    if (!buffer || computed == buffer)
      continue;
    if (!computed && buffers_.destination(value) == buffer) {
      materialiser_.fill(value, buffer);
      continue;
    }
    bool mayBeReplaced = !computed || isa<BlockArgument>(value) ||
                         isa_and_nonnull<core::ReshapeOp>(value.getDefiningOp());
    if (mayBeReplaced) {
      computed = buffers_.allocate(tileOf(value));
      materialiser_.fill(value, computed);
    }
    copies.push_back({computed, buffer});
  }
  for (auto [from, to] : copies)
    v_.copy(from, to);
}

LogicalResult TileLowering::lowerFor(scf::ForOp loop) {
  SmallVector<Value> buffers(loop.getNumResults());
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [n, initial] : llvm::enumerate(loop.getInitArgs())) {
    if (!isTile(initial))
      continue;
    buffers[n] = buffers_.allocate(tileOf(initial));
    materialiser_.fill(initial, buffers[n]);
    Value argument = loop.getRegionIterArg(n), next = yield->getOperand(n);
    buffers_.bind(argument, buffers[n]);
    buffers_.bind(loop.getResult(n), buffers[n]);
    if (next.getParentBlock() == loop.getBody() && next.getDefiningOp() &&
        inlining_.updatesInPlace(next, argument))
      buffers_.setDestination(next, buffers[n]);
  }
  int64_t mark = buffers_.scratch().mark();
  if (failed(lowerBlock(*loop.getBody())))
    return failure();
  v_.b.setInsertionPoint(yield);
  lowerYield(yield, buffers);
  buffers_.scratch().release(mark);
  return success();
}

LogicalResult TileLowering::lowerIf(scf::IfOp branch) {
  SmallVector<Value> buffers(branch.getNumResults());
  for (auto [n, result] : llvm::enumerate(branch.getResults()))
    if (isTile(result)) {
      buffers[n] = buffers_.allocate(tileOf(result));
      buffers_.bind(result, buffers[n]);
    }
  int64_t mark = buffers_.scratch().mark();
  for (Region &region : branch->getRegions()) {
    if (region.empty())
      continue;
    if (failed(lowerBlock(region.front())))
      return failure();
    Operation *yield = region.front().getTerminator();
    v_.b.setInsertionPoint(yield);
    lowerYield(yield, buffers);
    buffers_.scratch().release(mark);
  }
  return success();
}

/// A scalar op on narrow floats, computed in f32; other scalar ops stay.
void TileLowering::lowerScalar(Operation *op) {
  auto isNarrow = [](Type type) { return type && isa<FloatType>(type) && !type.isF32(); };
  bool isArithmetic = isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect());
  if (!isa<core::CastOp>(op) &&
      (!isArithmetic || !isNarrow(op->getNumOperands() ? op->getOperand(0).getType() : Type())))
    return;
  auto widen = [&](Value scalar) { return v_.fromStorage(v_.asStorage(scalar), scalar.getType()); };
  Type to = op->getResult(0).getType();
  Value result;
  if (auto cast = dyn_cast<core::CastOp>(op)) {
    result = v_.convert(widen(cast.getSource()), cast.getSource().getType(), to, cast.getRounding(),
                        cast.getSaturate());
  } else {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(widen(operand));
    OperationState state(v_.loc, op->getName(), operands, VectorType::get({1}, computeType(to)),
                         op->getAttrs());
    result = v_.rounded(v_.b.create(state)->getResult(0), to);
  }
  op->getResult(0).replaceAllUsesWith(v_.asScalar(result, to));
  dead_.push_back(op);
}

LogicalResult TileLowering::lowerOp(Operation *op) {
  v_.b.setInsertionPoint(op);
  v_.loc = op->getLoc();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp loop) { return lowerFor(loop); })
      .Case([&](scf::IfOp branch) { return lowerIf(branch); })
      .Case([&](core::StoreOp store) {
        if (!rowFusion_.hasLowered(store))
          stores_.lower(store);
        return success();
      })
      .Case<core::ScatterOp, core::AtomicAddOp>([&](auto op) {
        stores_.lower(op);
        return success();
      })
      .Case([&](tensor::ExtractOp extract) {
        At at(extract.getIndices().begin(), extract.getIndices().end());
        extract.getResult().replaceAllUsesWith(emitter_.scalarOf(extract.getTensor(), at));
        dead_.push_back(extract);
        return success();
      })
      .Default([&](Operation *op) { return lowerOther(op); });
}

LogicalResult TileLowering::lowerOther(Operation *op) {
  for (Region &region : op->getRegions())
    for (mlir::Block &block : region)
      if (failed(lowerBlock(block)))
        return failure();
  if (op->getNumResults() == 1 && isTile(op->getResult(0)))
    return lowerExpression(op);
  if (op->getNumResults() == 1 && op->getNumRegions() == 0)
    lowerScalar(op);
  return success();
}

/// Prepares what a load or gather reads.
void TileLowering::addRead(Operation *op) {
  if (auto load = dyn_cast<core::LoadOp>(op)) {
    reads_.add(op, accessOf(v_, load.getView(), load.getCoords(), tileOf(load.getTile()).getShape(),
                            load.getPadding().value_or(TypedAttr())));
    prefetches_.findNext(load, reads_.at(op));
  }
  if (auto gather = dyn_cast<core::GatherOp>(op))
    reads_.add(op, accessOf(v_, gather.getView(), {v_.index(0), gather.getCoord()},
                            tileOf(gather.getTile()).getShape(),
                            gather.getPadding().value_or(TypedAttr())));
}

/// Materialises a tile unless it stays an expression.
LogicalResult TileLowering::lowerExpression(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op);
      constant && !isa<SplatElementsAttr>(constant.getValue()))
    return op->emitError("a constant tile of different elements has no lowering to this target");
  addRead(op);
  if (!op->use_empty() && !buffers_.has(op->getResult(0)) && !inlining_.staysInline(op))
    materialise(op->getResult(0));
  return success();
}

LogicalResult TileLowering::lowerBlock(mlir::Block &block) {
  int64_t mark = buffers_.scratch().mark();
  auto restore = prefetches_.setAside();
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops)
    if (!op->hasTrait<OpTrait::IsTerminator>() && failed(lowerOp(op)))
      return failure();
  if (!isa<scf::ForOp, scf::IfOp>(block.getParentOp()))
    buffers_.scratch().release(mark);
  return success();
}

LogicalResult TileLowering::run() {
  v_.b.setInsertionPointToStart(&function_.getBody().front());
  if (failed(lowerBlock(function_.getBody().front())))
    return failure();
  eraseTiles(function_, dead_);
  return success();
}

} // namespace ditron::cpu
