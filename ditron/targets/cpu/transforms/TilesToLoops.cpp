// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpu-tiles-to-loops: tiles become loops over vectors; see TileLowering.h.
//
//   %a = tile.load %A[%i, %j] : ... -> tensor<8x64xf32>
//   %b = math.exp %a : tensor<8x64xf32>
//   tile.store %b, %C[%i, %j] : ...
// becomes
//   scf.for %r = 0 to 8 {
//     scf.for %c = 0 to 64 step 16 {
//       %v = vector.maskedload ... : vector<16xf32>
//       %e = math.exp %v : vector<16xf32>
//       vector.maskedstore %e ...
//     }
//   }
//
// test/targets/cpu/tiles-to-loops.mlir shows it.
#include "ditron/targets/cpu/transforms/Passes.h"
#include "ditron/targets/cpu/transforms/TileLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::cpu {

#define GEN_PASS_DEF_TILESTOLOOPS
#include "ditron/targets/cpu/transforms/Passes.h.inc"

static bool hasTiles(ValueRange values) { return llvm::any_of(values, isTile); }

TileLowering::TileLowering(func::FuncOp function, const VectorTarget &target)
    : function_(function), target_(target), b_(function.getContext()), loc_(function.getLoc()) {}

//===-- Loops and buffers ---------------------------------------------------------------------===//

Value TileLowering::allocate(ArrayRef<int64_t> shape, Type compute) {
  Type stored = storageType(compute);
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  int64_t offset = scratch_.allocate(elements * core::elementBytes(stored));
  return b_.create<memref::ViewOp>(loc_, MemRefType::get(shape, stored), arena_, index(offset),
                                   ValueRange());
}

Value TileLowering::bufferFor(RankedTensorType tile) {
  return allocate(tile.getShape(), computeType(tile.getElementType()));
}

void TileLowering::forRange(Value first, Value end, int64_t step,
                            const std::function<void(Value)> &body) {
  APInt from, to;
  if (matchPattern(first, m_ConstantInt(&from)) && matchPattern(end, m_ConstantInt(&to))) {
    if (from.sge(to))
      return;
    if ((from + step).sge(to))
      return body(first);
  }
  auto loop = b_.create<scf::ForOp>(loc_, first, end, index(step));
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

void TileLowering::forEachElement(ArrayRef<int64_t> shape,
                                  const std::function<void(const At &)> &body) {
  std::function<void(const At &)> nest = [&](const At &at) {
    if (at.size() == shape.size())
      return body(at);
    forRange(index(0), index(shape[at.size()]), 1, [&](Value i) {
      At next(at);
      next.push_back(i);
      nest(next);
    });
  };
  nest({});
}

void TileLowering::forEachVector(ArrayRef<int64_t> shape,
                                 const std::function<void(const At &, int64_t)> &body) {
  int64_t extent = shape.back(), lanes = target_.vectorBytes / 4;
  int64_t full = extent / lanes * lanes;
  forEachElement(shape.drop_back(), [&](const At &row) {
    auto visit = [&](Value j, int64_t count) {
      At at(row);
      at.push_back(j);
      body(at, count);
    };
    forRange(index(0), index(full), lanes, [&](Value j) { visit(j, lanes); });
    if (extent > full)
      visit(index(full), extent - full);
  });
}

void TileLowering::copy(Value from, Value to) {
  if (from == to)
    return;
  forEachVector(cast<MemRefType>(from.getType()).getShape(), [&](const At &at, int64_t lanes) {
    b_.create<vector::StoreOp>(loc_, loadBuffer(from, at, lanes), to, at);
  });
}

void TileLowering::fill(Value tile, Value buffer) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tile.getType()).getShape();
  Reads reads = readsOf(tile), prefetches = takePrefetches(shape);
  prefetchLater(reads);
  whereWhole(reads, shape, [&] {
    forEachVector(shape, [&](const At &at, int64_t lanes) {
      prefetch(prefetches, at);
      storeBuffer(emit(tile, at, lanes), buffer, at);
    });
  });
}

//===-- What is materialised ------------------------------------------------------------------===//

/// Computes a tile into a buffer.
void TileLowering::computeInto(Value tile, Value buffer) {
  Operation *op = tile.getDefiningOp();
  if (auto dot = dyn_cast_or_null<core::DotOp>(op))
    return lowerDot(dot, buffer);
  if (auto reduce = dyn_cast_or_null<core::ReduceOp>(op))
    return lowerReduce(reduce, buffer);
  if (auto reduce = dyn_cast_or_null<core::ReduceIndexOp>(op))
    return lowerReduceIndex(reduce, buffer);
  if (auto scan = dyn_cast_or_null<core::ScanOp>(op))
    return lowerScan(scan, buffer);
  fill(tile, buffer);
}

void TileLowering::materialise(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (movesElements(tile.getDefiningOp())) { // the source's memory under another shape
    Value operand = tile.getDefiningOp()->getOperand(0), source = buffers_.lookup(operand);
    if (!source) { // cheap to compute, and so nowhere yet
      source = bufferFor(cast<RankedTensorType>(operand.getType()));
      fill(operand, source);
    }
    auto shape =
        MemRefType::get(type.getShape(), cast<MemRefType>(source.getType()).getElementType());
    SmallVector<OpFoldResult> sizes, strides;
    int64_t stride = 1;
    for (int64_t extent : llvm::reverse(type.getShape())) {
      sizes.insert(sizes.begin(), b_.getIndexAttr(extent));
      strides.insert(strides.begin(), b_.getIndexAttr(stride));
      stride *= extent;
    }
    buffers_[tile] = b_.create<memref::ReinterpretCastOp>(loc_, shape, source, b_.getIndexAttr(0),
                                                          sizes, strides);
    return;
  }
  Value buffer = targets_.lookup(tile);
  if (!buffer)
    buffer = bufferFor(type);
  if (core::ReduceOp reduce = reductionOnTheWay(tile)) {
    Value reduced = bufferFor(cast<RankedTensorType>(reduce.getResult().getType()));
    std::optional<Trail> trail = trailOf(reduce);
    if (!trail || !lowerTrail(*trail, buffer, reduced))
      lowerReduce(reduce, reduced, buffer);
    buffers_[reduce.getResult()] = reduced;
  } else {
    computeInto(tile, buffer);
  }
  buffers_[tile] = buffer;
}

/// Sets aside, for a scope, the tiles to bring nearer: they belong to the block that reads them.
auto TileLowering::keepPrefetches() {
  return llvm::make_scope_exit(
      [this, outer = std::exchange(prefetches_, {})]() mutable { prefetches_ = std::move(outer); });
}

//===-- The walk ------------------------------------------------------------------------------===//

/// Brings what a loop or branch yields into its buffers: first everything is computed, then
/// copied, since a value may read what another one replaces.
void TileLowering::lowerYield(Operation *yield, ArrayRef<Value> buffers) {
  auto restore = keepPrefetches();
  SmallVector<std::pair<Value, Value>> copies;
  for (auto [value, buffer] : llvm::zip_equal(yield->getOperands(), buffers)) {
    Value computed = buffers_.lookup(value);
    if (!buffer || computed == buffer)
      continue;
    if (!computed && targets_.lookup(value) == buffer) {
      fill(value, buffer);
      continue;
    }
    bool mayBeReplaced = !computed || isa<BlockArgument>(value) ||
                         isa_and_nonnull<core::ReshapeOp>(value.getDefiningOp());
    if (mayBeReplaced) {
      computed = bufferFor(cast<RankedTensorType>(value.getType()));
      fill(value, computed);
    }
    copies.push_back({computed, buffer});
  }
  for (auto [from, to] : copies)
    copy(from, to);
}

LogicalResult TileLowering::lowerFor(scf::ForOp loop) {
  SmallVector<Value> buffers(loop.getNumResults());
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [n, initial] : llvm::enumerate(loop.getInitArgs())) {
    if (!isTile(initial))
      continue;
    buffers[n] = bufferFor(cast<RankedTensorType>(initial.getType()));
    fill(initial, buffers[n]);
    Value argument = loop.getRegionIterArg(n), next = yield->getOperand(n);
    buffers_[argument] = buffers_[loop.getResult(n)] = buffers[n];
    if (next.getParentBlock() == loop.getBody() && next.getDefiningOp() &&
        updatesInPlace(next, argument))
      targets_[next] = buffers[n];
  }
  int64_t mark = scratch_.mark();
  if (failed(lowerBlock(*loop.getBody())))
    return failure();
  b_.setInsertionPoint(yield);
  lowerYield(yield, buffers);
  scratch_.release(mark);
  return success();
}

LogicalResult TileLowering::lowerIf(scf::IfOp branch) {
  SmallVector<Value> buffers(branch.getNumResults());
  for (auto [n, result] : llvm::enumerate(branch.getResults()))
    if (isTile(result))
      buffers_[result] = buffers[n] = bufferFor(cast<RankedTensorType>(result.getType()));
  int64_t mark = scratch_.mark();
  for (Region &region : branch->getRegions()) {
    if (region.empty())
      continue;
    if (failed(lowerBlock(region.front())))
      return failure();
    Operation *yield = region.front().getTerminator();
    b_.setInsertionPoint(yield);
    lowerYield(yield, buffers);
    scratch_.release(mark);
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
  auto widen = [&](Value scalar) { return fromStorage(asStorage(scalar), scalar.getType()); };
  Type to = op->getResult(0).getType();
  Value result;
  if (auto cast = dyn_cast<core::CastOp>(op)) {
    result = convert(widen(cast.getSource()), cast.getSource().getType(), to, cast.getRounding(),
                     cast.getSaturate());
  } else {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(widen(operand));
    OperationState state(loc_, op->getName(), operands, VectorType::get({1}, computeType(to)),
                         op->getAttrs());
    result = rounded(b_.create(state)->getResult(0), to);
  }
  op->getResult(0).replaceAllUsesWith(asScalar(result, to));
  dead_.push_back(op);
}

LogicalResult TileLowering::lowerOp(Operation *op) {
  b_.setInsertionPoint(op);
  loc_ = op->getLoc();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp loop) { return lowerFor(loop); })
      .Case([&](scf::IfOp branch) { return lowerIf(branch); })
      .Case([&](core::StoreOp store) {
        return trailing_.contains(store) ? success() : lowerStore(store);
      })
      .Case([&](core::ScatterOp scatter) { return lowerScatter(scatter); })
      .Case([&](core::AtomicAddOp atomic) { return lowerAtomicAdd(atomic); })
      .Case([&](tensor::ExtractOp extract) {
        At at(extract.getIndices().begin(), extract.getIndices().end());
        extract.getResult().replaceAllUsesWith(scalarOf(extract.getTensor(), at));
        dead_.push_back(extract);
        return success();
      })
      .Default([&](Operation *op) {
        for (Region &region : op->getRegions())
          for (mlir::Block &block : region)
            if (failed(lowerBlock(block)))
              return failure();
        if (op->getNumResults() == 1 && isTile(op->getResult(0)))
          return lowerExpression(op);
        if (op->getNumResults() == 1 && op->getNumRegions() == 0)
          lowerScalar(op);
        return success();
      });
}

/// Prepares the reads of a tile op, and materialises it unless it stays an expression.
LogicalResult TileLowering::lowerExpression(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op);
      constant && !isa<SplatElementsAttr>(constant.getValue()))
    return op->emitError("a constant tile of different elements has no lowering to this target");
  if (auto load = dyn_cast<core::LoadOp>(op))
    accesses_[op] = accessOf(load.getView(), load.getCoords(),
                             cast<RankedTensorType>(load.getTile().getType()).getShape(),
                             load.getPadding().value_or(TypedAttr()));
  if (auto load = dyn_cast<core::LoadOp>(op))
    findNext(load, accesses_[op]);
  if (auto gather = dyn_cast<core::GatherOp>(op))
    accesses_[op] = accessOf(gather.getView(), {index(0), gather.getCoord()},
                             cast<RankedTensorType>(gather.getTile().getType()).getShape(),
                             gather.getPadding().value_or(TypedAttr()));
  if (!op->use_empty() && !buffers_.count(op->getResult(0)) && !staysInline(op))
    materialise(op->getResult(0));
  return success();
}

LogicalResult TileLowering::lowerBlock(mlir::Block &block) {
  int64_t mark = scratch_.mark();
  auto restore = keepPrefetches();
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops)
    if (!op->hasTrait<OpTrait::IsTerminator>() && failed(lowerOp(op)))
      return failure();
  if (!isa<scf::ForOp, scf::IfOp>(block.getParentOp()))
    scratch_.release(mark);
  return success();
}

//===-- Leaving the tiles behind --------------------------------------------------------------===//

/// Takes the tiles out of what a loop or branch yields.
static Operation *withoutTiles(Operation *op) {
  OpBuilder b(op);
  SmallVector<Type> types;
  SmallVector<unsigned> kept;
  for (auto [n, result] : llvm::enumerate(op->getResults()))
    if (!isTile(result)) {
      kept.push_back(n);
      types.push_back(result.getType());
    }
  OperationState state(op->getLoc(), op->getName(), {}, types, op->getAttrs());
  unsigned fixed = op->getNumOperands() - (isa<scf::ForOp>(op) ? op->getNumResults() : 0);
  for (unsigned n = 0; n < fixed; ++n)
    state.operands.push_back(op->getOperand(n));
  if (isa<scf::ForOp>(op))
    for (unsigned n : kept)
      state.operands.push_back(op->getOperand(fixed + n));
  for (Region &region : op->getRegions()) {
    state.addRegion()->takeBody(region);
  }
  Operation *fresh = b.create(state);
  for (Region &region : fresh->getRegions()) {
    if (region.empty())
      continue;
    mlir::Block &block = region.front();
    Operation *yield = block.getTerminator();
    for (unsigned n = op->getNumResults(); n-- > 0;) {
      if (!isTile(op->getResult(n)))
        continue;
      yield->eraseOperand(n);
      if (isa<scf::ForOp>(op)) {
        block.getArgument(n + 1).dropAllUses();
        block.eraseArgument(n + 1);
      }
    }
  }
  for (auto [n, old] : llvm::enumerate(kept))
    op->getResult(old).replaceAllUsesWith(fresh->getResult(n));
  op->dropAllUses();
  op->erase();
  return fresh;
}

void TileLowering::eraseTiles() {
  SmallVector<Operation *> structured, tiles;
  function_.walk([&](Operation *op) { // inner ones first
    if (isa<scf::ForOp, scf::IfOp>(op)) {
      if (hasTiles(op->getResults()))
        structured.push_back(op);
    } else if (!isa<scf::YieldOp>(op) &&
               (hasTiles(op->getOperands()) || hasTiles(op->getResults()))) {
      tiles.push_back(op);
    }
  });
  for (Operation *op : structured)
    withoutTiles(op);
  for (Operation *op : dead_)
    if (!hasTiles(op->getOperands()))
      tiles.push_back(op);
  for (Operation *op : llvm::reverse(tiles)) {
    op->dropAllUses();
    op->erase();
  }
}

LogicalResult TileLowering::run() {
  b_.setInsertionPointToStart(&function_.getBody().front());
  arena_ = function_.getArguments().back();
  if (failed(lowerBlock(function_.getBody().front())))
    return failure();
  eraseTiles();
  return success();
}

namespace {

class TilesToLoops : public impl::TilesToLoopsBase<TilesToLoops> {
public:
  using TilesToLoopsBase::TilesToLoopsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function->hasAttr(core::kKernelAttr))
      return;
    for (auto [n, type] : llvm::enumerate(function.getFunctionType().getInputs()))
      if (isa<RankedTensorType>(type)) {
        function.emitError() << "argument #" << n << " is the tile " << type
                             << ", expected memory, from which tiles are loaded";
        return signalPassFailure();
      }
    // The core's scratch memory comes as the last argument.
    Type bytes = MemRefType::get({ShapedType::kDynamic}, IntegerType::get(&getContext(), 8));
    function.insertArgument(function.getNumArguments(), bytes, {}, function.getLoc());
    TileLowering lowering(function, {vectorBytes, registers});
    if (failed(lowering.run()))
      return signalPassFailure();
    if (lowering.scratchBytes() > memoryBytes) {
      function.emitError() << "the tiles of this kernel need " << lowering.scratchBytes()
                           << " bytes of a core's memory, which has " << memoryBytes.getValue()
                           << ": choose smaller tiles";
      return signalPassFailure();
    }
    Builder builder(&getContext());
    function->setAttr(kScratchAttr, builder.getI64IntegerAttr(lowering.scratchBytes()));
  }
};

} // namespace
} // namespace ditron::cpu
