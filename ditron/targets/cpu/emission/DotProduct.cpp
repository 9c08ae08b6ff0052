// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/DotProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::cpu {

DotShape DotShape::of(core::DotOp op, const VectorBuilder &v) {
  RankedTensorType result = tileOf(op.getResult());
  return {result.getShape().end()[-2], result.getShape().back(),
          tileOf(op.getLhs()).getShape().back(), v.lanesOf(result.getElementType())};
}

DotProduct::DotProduct(const DotContext &context, core::DotOp op, Value right, bool mayPair)
    : v_(context.v), buffers_(context.buffers), reads_(context.reads), emitter_(context.emitter),
      op_(op), right_(right), source_(tileOf(op.getLhs()).getElementType()),
      element_(tileOf(op.getResult()).getElementType()), m_(DotShape::of(op, v_).m),
      n_(DotShape::of(op, v_).n), depth_(DotShape::of(op, v_).depth),
      lanes_(DotShape::of(op, v_).lanes), products_(v_, element_, mayPair && isInPairs(right)) {}

/// Whether rhs is read as it is stored, and multiplied pair by pair.
bool DotProduct::isInPairs(Value right) const {
  const Access *read = edgeOf(right);
  return v_.target.multipliesPairs && source_.isBF16() && element_.isF32() && read &&
         read->unitStride;
}

const Access *DotProduct::edgeOf(Value operand) const {
  auto load = operand.getDefiningOp<core::LoadOp>();
  if (!load || buffers_.has(operand) || load.getPadding())
    return nullptr;
  return &reads_.at(load);
}

Value DotProduct::knownExtent(Value operand, int64_t fromEnd, int64_t whole) const {
  const Access *access = edgeOf(operand);
  if (!access)
    return v_.index(whole);
  size_t d = access->sizes.size() - fromEnd;
  Value rest = v_.create<arith::SubIOp>(access->sizes[d], access->start[d]);
  Value zero = v_.index(0);
  Value all = v_.index(whole);
  return v_.create<arith::MaxSIOp>(v_.create<arith::MinSIOp>(rest, all), zero);
}

Value DotProduct::emitFactor(Value operand, Value i, Value j, int64_t lanes, Coverage coverage) {
  At at(batch_);
  at.append({i, j});
  return v_.convert(emitter_.emit(operand, at, lanes, coverage), source_, element_,
                    core::Rounding::nearest_even, false);
}

void DotProduct::packRows() {
  Value used = v_.mul(blocks_, v_.index(block_.rows));
  used = v_.create<arith::MinSIOp>(used, v_.index(m_));
  int64_t full = depth_ / lanes_ * lanes_, rest = depth_ - full;
  Value lhs = op_.getLhs();
  whereWhole(v_, reads_.of(lhs, buffers_), tileOf(lhs).getShape(), [&](Coverage coverage) {
    auto pack = [&](Value i, Value k, int64_t lanes) {
      Value factors = emitFactor(lhs, i, k, lanes, coverage);
      v_.storeBuffer(products_.areInPairs() ? v_.toStorage(factors, source_) : factors, rows_,
                     {i, k});
    };
    v_.forRange(v_.index(0), used, 1, [&](Value i) {
      v_.forRange(v_.index(0), v_.index(full), lanes_, [&](Value k) { pack(i, k, lanes_); });
      if (rest)
        pack(i, v_.index(full), rest);
    });
  });
}

void DotProduct::forEachBlock(const std::function<void(Value row, int64_t height)> &visit,
                              int64_t first) {
  int64_t height = block_.rows, whole = m_ / height, rest = m_ % height;
  Value wholeBlocks = v_.create<arith::MinSIOp>(blocks_, v_.index(whole));
  if (first < whole)
    v_.forRange(v_.index(first * height), v_.mul(wholeBlocks, v_.index(height)), height,
                [&](Value row) { visit(row, height); });
  if (rest == 0)
    return;
  Value reaches = v_.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, blocks_, v_.index(whole));
  auto branch = v_.create<scf::IfOp>(reaches, false);
  OpBuilder::InsertionGuard guard(v_.b);
  v_.b.setInsertionPoint(branch.thenBlock()->getTerminator());
  visit(v_.index(whole * height), rest);
}

/// The matrix of one batch of a buffer.
static Value matrixOf(VectorBuilder &v, Value buffer, ValueRange batch) {
  if (batch.empty())
    return buffer;
  auto type = cast<MemRefType>(buffer.getType());
  ArrayRef<int64_t> matrix = type.getShape().take_back(2);
  SmallVector<OpFoldResult> offsets(batch.begin(), batch.end());
  SmallVector<OpFoldResult> sizes(batch.size(), v.b.getIndexAttr(1));
  SmallVector<OpFoldResult> strides(type.getRank(), v.b.getIndexAttr(1));
  offsets.append(2, v.b.getIndexAttr(0));
  for (int64_t extent : matrix)
    sizes.push_back(v.b.getIndexAttr(extent));
  auto view = cast<MemRefType>(
      memref::SubViewOp::inferRankReducedResultType(matrix, type, offsets, sizes, strides));
  return v.create<memref::SubViewOp>(view, buffer, offsets, sizes, strides);
}

void DotProduct::multiplyMatrix(Value out) {
  Value knownRows = knownExtent(op_.getLhs(), 2, m_);
  int64_t depthFromEnd = right_ == op_.getRhs() ? 2 : 1;
  knownDepth_ = v_.create<arith::MinSIOp>(knownExtent(op_.getLhs(), 1, depth_),
                                          knownExtent(right_, depthFromEnd, depth_));
  blocks_ = v_.create<arith::CeilDivSIOp>(knownRows, v_.index(block_.rows));
  packRows();
  multiply(out);
}

void DotProduct::addTo(Value result) {
  Scratch &scratch = buffers_.scratch();
  int64_t mark = scratch.mark();
  rows_ = buffers_.allocate({m_, rowPitch()}, products_.areInPairs() ? source_ : element_);
  allocate();
  v_.forEachElement(tileOf(op_.getResult()).getShape().drop_back(2), [&](const At &batch) {
    batch_ = batch;
    multiplyMatrix(matrixOf(v_, result, batch));
  });
  scratch.release(mark);
}

} // namespace ditron::cpu
