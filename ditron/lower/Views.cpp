// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lower/Views.h"
#include "ditron/device/DistOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace ditron::lower {

bool hasUnitStride(Value view) {
  if (auto argument = dyn_cast<BlockArgument>(view)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return function &&
           function.getArgAttr(argument.getArgNumber(), core::kUnitStrideAttr) != Attribute();
  }
  Operation *op = view.getDefiningOp();
  if (op->hasAttr(core::kUnitStrideAttr)) // of a table
    return true;
  if (auto transpose = dyn_cast<memref::TransposeOp>(op)) {
    AffineMap map = transpose.getPermutation();
    bool lastStays =
        cast<AffineDimExpr>(map.getResults().back()).getPosition() == map.getNumResults() - 1;
    return lastStays && hasUnitStride(transpose.getIn());
  }
  if (auto choice = dyn_cast<arith::SelectOp>(op))
    return hasUnitStride(choice.getTrueValue()) && hasUnitStride(choice.getFalseValue());
  if (auto choice = dyn_cast<core::SelectViewOp>(op))
    return llvm::all_of(choice.getViews(), hasUnitStride);
  if (isa<memref::SubViewOp, memref::ExpandShapeOp, memref::CastOp, memref::MemorySpaceCastOp,
          core::ChunkOp>(op))
    return hasUnitStride(op->getOperand(0));
  // Of a backend: the same view elsewhere.
  auto same = dyn_cast<ViewLikeOpInterface>(op);
  return same && !isa<memref::MemRefDialect>(op->getDialect()) &&
         hasUnitStride(same.getViewSource());
}

bool isModerate(Value value, int depth) {
  constexpr int kDeepest = 8;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.abs().ult(int64_t(1) << 31);
  if (depth == kDeepest)
    return false;
  auto moderate = [&](Value part) { return isModerate(part, depth + 1); };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && value == loop.getInductionVar() && moderate(loop.getLowerBound()) &&
           moderate(loop.getStep());
  }
  Operation *op = value.getDefiningOp();
  if (isa<memref::DimOp, memref::ExtractStridedMetadataOp, device::RankOp, device::NumRanksOp,
          device::RankAtOp, device::CoreOp, device::NumCoresOp>(op))
    return true;
  if (auto cast = dyn_cast<arith::IndexCastOp>(op))
    return cast.getIn().getType().getIntOrFloatBitWidth() <= 32;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return moderate(op->getOperand(0));
  if (isa<arith::MulIOp>(op)) {
    bool isScaled = matchPattern(op->getOperand(1), m_ConstantInt(&constant)) &&
                    constant.abs().ult(int64_t(1) << 16);
    return isScaled && moderate(op->getOperand(0));
  }
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return moderate(select.getTrueValue()) && moderate(select.getFalseValue());
  return isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>(op) &&
         llvm::all_of(op->getOperands(), moderate);
}

Value partOf(OpBuilder &b, core::ChunkOp chunk) {
  Location loc = chunk.getLoc();
  auto view = cast<MemRefType>(chunk.getView().getType());
  ArrayRef<int64_t> shape = chunk.getShape();
  size_t lead = view.getRank() - shape.size();
  auto index = [&](int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); };
  SmallVector<OpFoldResult> offsets, sizes, strides(view.getRank(), b.getIndexAttr(1));
  Value none = index(0), inside;
  for (auto [d, coord] : llvm::enumerate(chunk.getCoords())) {
    Value extent = b.create<memref::DimOp>(loc, chunk.getView(), static_cast<int64_t>(d));
    int64_t whole = d < lead ? 1 : shape[d - lead];
    // Compared in tiles, since a coordinate times its extent may not fit; unsigned, since a
    // negative one is outside too.
    Value padded = b.create<arith::AddIOp>(loc, extent, index(whole - 1));
    Value tiles = b.create<arith::DivUIOp>(loc, padded, index(whole));
    Value within = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, coord, tiles);
    Value start = b.create<arith::MulIOp>(loc, coord, index(whole));
    start = b.create<arith::SelectOp>(loc, within, start, none);
    offsets.push_back(start);
    if (d < lead) {
      inside = inside ? b.create<arith::AndIOp>(loc, inside, within).getResult() : within;
      sizes.push_back(b.getIndexAttr(1));
      continue;
    }
    Value rest = b.create<arith::SubIOp>(loc, extent, start);
    Value size = b.create<arith::MinSIOp>(loc, rest, index(whole));
    if (inside)
      within = b.create<arith::AndIOp>(loc, within, inside);
    sizes.push_back(b.create<arith::SelectOp>(loc, within, size, none).getResult());
  }
  auto type = cast<MemRefType>(chunk.getChunk().getType());
  return b.create<memref::SubViewOp>(loc, type, chunk.getView(), offsets, sizes, strides);
}

} // namespace ditron::lower
