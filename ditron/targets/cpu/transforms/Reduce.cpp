// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions and scans. Along the last dimension a row is combined in a few vectors at once, then
// across their lanes; along another dimension whole vectors combine. The order is fixed by the
// shapes, so results are the same on every run.
#include "ditron/targets/cpu/transforms/TileLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using ditron::core::ReduceKind;

namespace ditron::cpu {

/// Independent partial results of a row: hides the latency of the additions.
static constexpr int64_t kPartials = 4;

Value TileLowering::combine(ReduceKind kind, Value x, Value y) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(x));
  switch (kind) {
  case ReduceKind::sum:
    return isFloat ? Value(b_.create<arith::AddFOp>(loc_, x, y))
                   : Value(b_.create<arith::AddIOp>(loc_, x, y));
  case ReduceKind::prod:
    return isFloat ? Value(b_.create<arith::MulFOp>(loc_, x, y))
                   : Value(b_.create<arith::MulIOp>(loc_, x, y));
  case ReduceKind::max:
    return isFloat ? Value(b_.create<arith::MaximumFOp>(loc_, x, y))
                   : Value(b_.create<arith::MaxSIOp>(loc_, x, y));
  case ReduceKind::min:
    break;
  }
  return isFloat ? Value(b_.create<arith::MinimumFOp>(loc_, x, y))
                 : Value(b_.create<arith::MinSIOp>(loc_, x, y));
}

static vector::CombiningKind combiningKind(ReduceKind kind, bool isFloat) {
  switch (kind) {
  case ReduceKind::sum:
    return vector::CombiningKind::ADD;
  case ReduceKind::prod:
    return vector::CombiningKind::MUL;
  case ReduceKind::max:
    return isFloat ? vector::CombiningKind::MAXIMUMF : vector::CombiningKind::MAXSI;
  case ReduceKind::min:
    break;
  }
  return isFloat ? vector::CombiningKind::MINIMUMF : vector::CombiningKind::MINSI;
}

/// scf.for that carries values; `body` gives the next ones.
static SmallVector<Value> carry(OpBuilder &b, mlir::Location loc, Value first, Value end,
                                int64_t step, ValueRange initial,
                                const std::function<SmallVector<Value>(Value, ValueRange)> &body) {
  Value by = b.create<arith::ConstantIndexOp>(loc, step);
  auto loop = b.create<scf::ForOp>(loc, first, end, by, initial);
  OpBuilder::InsertionGuard guard(b);
  if (initial.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!initial.empty())
    b.create<scf::YieldOp>(loc, next);
  return SmallVector<Value>(loop.getResults());
}

/// All of row `at` (its last index is replaced) combined into a scalar. The elements are also kept
/// in a buffer, if there is one: the tile's own.
Value TileLowering::reduceRow(Value tile, At at, ReduceKind kind, Value keep,
                              ArrayRef<const Access *> prefetches, const Beside &beside) {
  auto type = cast<RankedTensorType>(tile.getType());
  Type element = computeType(type.getElementType());
  int64_t extent = type.getShape().back(), lanes = lanesOf(element);
  auto part = [&](Value j, int64_t width) {
    at.back() = j;
    prefetch(prefetches, at);
    Value vector = keep ? emitOp(tile.getDefiningOp(), at, width) : emit(tile, at, width);
    if (keep)
      storeBuffer(vector, keep, at);
    if (beside)
      beside(j, width);
    return vector;
  };
  auto kindOfVector = combiningKind(kind, isa<FloatType>(element));
  auto across = [&](Value vector) -> Value {
    return b_.create<vector::ReductionOp>(loc_, kindOfVector, vector);
  };
  int64_t vectors = extent / lanes, partials = std::min(kPartials, vectors);
  Value result;
  if (partials > 0) {
    SmallVector<Value> running;
    for (int64_t p = 0; p < partials; ++p)
      running.push_back(part(index(p * lanes), lanes));
    int64_t step = partials * lanes, looped = vectors / partials * step;
    running = carry(
        b_, loc_, index(step), index(looped), step, running, [&](Value j, ValueRange carried) {
          SmallVector<Value> next;
          for (int64_t p = 0; p < partials; ++p)
            next.push_back(combine(kind, carried[p], part(add(j, index(p * lanes)), lanes)));
          return next;
        });
    for (int64_t j = looped; j < vectors * lanes; j += lanes)
      running[0] = combine(kind, running[0], part(index(j), lanes));
    for (int64_t p = 1; p < partials; ++p)
      running[0] = combine(kind, running[0], running[p]);
    result = across(running[0]);
  }
  if (int64_t rest = extent % lanes) {
    Value last = across(part(index(vectors * lanes), rest));
    result = result ? combine(kind, result, last) : last;
  }
  return result;
}

/// A combined value rounded to the tile's element type.
Value TileLowering::rounded(Value vector, Type element) {
  return isa<FloatType>(element) ? roundTo(vector, element, core::Rounding::nearest_even, false)
                                 : vector;
}

void TileLowering::lowerReduce(core::ReduceOp op, Value result, Value keep) {
  Value source = op.getSource();
  auto type = cast<RankedTensorType>(source.getType());
  auto reduced = cast<RankedTensorType>(op.getResult().getType());
  int64_t axis = op.getAxis();
  if (axis == type.getRank() - 1) {
    Reads reads = readsOf(source), prefetches;
    if (keep) // it computes
      prefetches = takePrefetches(type.getShape());
    prefetchLater(reads);
    return whereWhole(reads, type.getShape(), [&] {
      forEachElement(reduced.getShape(), [&](const At &at) {
        Value scalar = reduceRow(source, at, op.getKind(), keep, prefetches);
        storeBuffer(rounded(repeat(scalar, 1), type.getElementType()), result, at);
      });
    });
  }
  forEachVector(reduced.getShape(), [&](const At &at, int64_t lanes) {
    At from(at);
    from[axis] = index(0);
    Value first = emit(source, from, lanes);
    SmallVector<Value> all =
        carry(b_, loc_, index(1), index(type.getDimSize(axis)), 1, first,
              [&](Value i, ValueRange carried) -> SmallVector<Value> {
                At next(at);
                next[axis] = i;
                return {combine(op.getKind(), carried[0], emit(source, next, lanes))};
              });
    storeBuffer(rounded(all[0], type.getElementType()), result, at);
  });
}

void TileLowering::lowerReduceIndex(core::ReduceIndexOp op, Value result) {
  Value source = op.getSource();
  auto type = cast<RankedTensorType>(source.getType());
  auto reduced = cast<RankedTensorType>(op.getResult().getType());
  int64_t axis = op.getAxis();
  bool isMax = op.getKind() == core::Extremum::max;
  Type i32 = b_.getI32Type();
  auto beats = [&](Value x, Value best) -> Value {
    if (!isa<FloatType>(x.getType()))
      return b_.create<arith::CmpIOp>(
          loc_, isMax ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt, x, best);
    Value more = b_.create<arith::CmpFOp>(
        loc_, isMax ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT, x, best);
    Value isNan = b_.create<arith::CmpFOp>(loc_, arith::CmpFPredicate::UNO, best, best);
    Value no = b_.create<arith::ConstantIntOp>(loc_, 0, 1); // the first NaN stays
    return b_.create<arith::SelectOp>(loc_, isNan, no, more);
  };
  forEachElement(reduced.getShape(), [&](const At &at) {
    At from(at);
    from[axis] = index(0);
    Value zero = b_.create<arith::ConstantIntOp>(loc_, 0, 32);
    SmallVector<Value> best{scalarAt(source, from), zero};
    best = carry(b_, loc_, index(1), index(type.getDimSize(axis)), 1, best,
                 [&](Value i, ValueRange carried) -> SmallVector<Value> {
                   At next(at);
                   next[axis] = i;
                   Value x = scalarAt(source, next), better = beats(x, carried[0]);
                   Value here = b_.create<arith::IndexCastOp>(loc_, i32, i);
                   return {b_.create<arith::SelectOp>(loc_, better, x, carried[0]),
                           b_.create<arith::SelectOp>(loc_, better, here, carried[1])};
                 });
    storeBuffer(repeat(best[1], 1), result, at);
  });
}

void TileLowering::lowerScan(core::ScanOp op, Value result) {
  Value source = op.getSource();
  auto type = cast<RankedTensorType>(source.getType());
  int64_t axis = op.getAxis();
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = 1;
  auto scanFrom = [&](const At &at, int64_t lanes) {
    At from(at);
    from[axis] = index(0);
    Value first = emit(source, from, lanes);
    storeBuffer(first, result, from);
    carry(b_, loc_, index(1), index(type.getDimSize(axis)), 1, first,
          [&](Value i, ValueRange carried) -> SmallVector<Value> {
            At next(at);
            next[axis] = i;
            Value sum = combine(op.getKind(), carried[0], emit(source, next, lanes));
            storeBuffer(rounded(sum, type.getElementType()), result, next);
            return {sum};
          });
  };
  if (axis == type.getRank() - 1)
    forEachElement(shape, [&](const At &at) { scanFrom(at, 1); });
  else
    forEachVector(shape, scanFrom);
}

} // namespace ditron::cpu
