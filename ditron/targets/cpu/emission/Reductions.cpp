// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using ditron::core::ReduceKind;

namespace ditron::cpu {

/// Independent partial results of a row: hides the latency of the additions.
static constexpr int64_t kPartials = 4;

Value Reductions::combine(ReduceKind kind, Value x, Value y) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(x));
  switch (kind) {
  case ReduceKind::sum:
    return isFloat ? Value(v_.create<arith::AddFOp>(x, y)) : Value(v_.create<arith::AddIOp>(x, y));
  case ReduceKind::prod:
    return isFloat ? Value(v_.create<arith::MulFOp>(x, y)) : Value(v_.create<arith::MulIOp>(x, y));
  case ReduceKind::max:
    return isFloat ? Value(v_.create<arith::MaximumFOp>(x, y))
                   : Value(v_.create<arith::MaxSIOp>(x, y));
  case ReduceKind::min:
    break;
  }
  return isFloat ? Value(v_.create<arith::MinimumFOp>(x, y))
                 : Value(v_.create<arith::MinSIOp>(x, y));
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

Value Reductions::reduceRow(const RowReduction &reduction, At at, Coverage coverage,
                            const Beside &beside) {
  ReduceKind kind = reduction.kind;
  Type element = computeType(tileOf(reduction.tile).getElementType());
  int64_t extent = tileOf(reduction.tile).getShape().back(), lanes = v_.lanesOf(element);
  auto part = [&](Value j, int64_t width) {
    at.back() = j;
    prefetches_.emit(reduction.prefetches, at);
    Value vector = reduction.keep
                       ? emitter_.emitOp(reduction.tile.getDefiningOp(), at, width, coverage)
                       : emitter_.emit(reduction.tile, at, width, coverage);
    if (reduction.keep)
      v_.storeBuffer(vector, reduction.keep, at);
    if (beside)
      beside(j, width);
    return vector;
  };
  auto kindOfVector = combiningKind(kind, isa<FloatType>(element));
  auto across = [&](Value vector) -> Value {
    return v_.create<vector::ReductionOp>(kindOfVector, vector);
  };
  int64_t vectors = extent / lanes, partials = std::min(kPartials, vectors);
  Value result;
  if (partials > 0) {
    SmallVector<Value> running;
    for (int64_t p = 0; p < partials; ++p)
      running.push_back(part(v_.index(p * lanes), lanes));
    int64_t step = partials * lanes, looped = vectors / partials * step;
    running =
        v_.carry(v_.index(step), v_.index(looped), step, running, [&](Value j, ValueRange carried) {
          SmallVector<Value> next;
          for (int64_t p = 0; p < partials; ++p)
            next.push_back(combine(kind, carried[p], part(v_.add(j, v_.index(p * lanes)), lanes)));
          return next;
        });
    for (int64_t j = looped; j < vectors * lanes; j += lanes)
      running[0] = combine(kind, running[0], part(v_.index(j), lanes));
    for (int64_t p = 1; p < partials; ++p)
      running[0] = combine(kind, running[0], running[p]);
    result = across(running[0]);
  }
  if (int64_t rest = extent % lanes) {
    Value last = across(part(v_.index(vectors * lanes), rest));
    result = result ? combine(kind, result, last) : last;
  }
  return result;
}

void Reductions::lowerRows(core::ReduceOp op, Value result, Value keep) {
  Value source = op.getSource();
  ArrayRef<int64_t> shape = tileOf(source).getShape();
  RowReduction reduction{source, op.getKind(), keep};
  Accesses reads = reads_.of(source, buffers_);
  if (keep) // it computes
    reduction.prefetches = prefetches_.take(shape);
  prefetches_.leave(reads);
  whereWhole(v_, reads, shape, [&](Coverage coverage) {
    v_.forEachElement(tileOf(op.getResult()).getShape(), [&](const At &at) {
      Value scalar = reduceRow(reduction, at, coverage);
      v_.storeBuffer(v_.rounded(v_.repeat(scalar, 1), tileOf(source).getElementType()), result, at);
    });
  });
}

void Reductions::lower(core::ReduceOp op, Value result, Value keep) {
  Value source = op.getSource();
  auto type = tileOf(source), reduced = tileOf(op.getResult());
  int64_t axis = op.getAxis();
  if (axis == type.getRank() - 1)
    return lowerRows(op, result, keep);
  v_.forEachVector(reduced.getShape(), [&](const At &at, int64_t lanes) {
    At from(at);
    from[axis] = v_.index(0);
    Value first = emitter_.emit(source, from, lanes);
    SmallVector<Value> all =
        v_.carry(v_.index(1), v_.index(type.getDimSize(axis)), 1, first,
                 [&](Value i, ValueRange carried) -> SmallVector<Value> {
                   At next(at);
                   next[axis] = i;
                   return {combine(op.getKind(), carried[0], emitter_.emit(source, next, lanes))};
                 });
    v_.storeBuffer(v_.rounded(all[0], type.getElementType()), result, at);
  });
}

/// Whether x takes the place of the best so far: the first of equals stays, and the first NaN.
static Value beats(VectorBuilder &v, bool isMax, Value x, Value best) {
  if (!isa<FloatType>(x.getType()))
    return v.create<arith::CmpIOp>(isMax ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt, x,
                                   best);
  Value more = v.create<arith::CmpFOp>(
      isMax ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT, x, best);
  Value isNan = v.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, best, best);
  return v.create<arith::SelectOp>(isNan, v.truth(false), more);
}

void Reductions::lower(core::ReduceIndexOp op, Value result) {
  Value source = op.getSource();
  auto type = tileOf(source), reduced = tileOf(op.getResult());
  int64_t axis = op.getAxis();
  bool isMax = op.getKind() == core::Extremum::max;
  Type i32 = v_.b.getI32Type();
  v_.forEachElement(reduced.getShape(), [&](const At &at) {
    At from(at);
    from[axis] = v_.index(0);
    Value zero = v_.create<arith::ConstantIntOp>(0, 32);
    SmallVector<Value> best{emitter_.scalarAt(source, from), zero};
    best = v_.carry(v_.index(1), v_.index(type.getDimSize(axis)), 1, best,
                    [&](Value i, ValueRange carried) -> SmallVector<Value> {
                      At next(at);
                      next[axis] = i;
                      Value x = emitter_.scalarAt(source, next);
                      Value better = beats(v_, isMax, x, carried[0]);
                      Value here = v_.create<arith::IndexCastOp>(i32, i);
                      return {v_.create<arith::SelectOp>(better, x, carried[0]),
                              v_.create<arith::SelectOp>(better, here, carried[1])};
                    });
    v_.storeBuffer(v_.repeat(best[1], 1), result, at);
  });
}

void Reductions::lower(core::ScanOp op, Value result) {
  Value source = op.getSource();
  auto type = tileOf(source);
  int64_t axis = op.getAxis();
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = 1;
  auto scanFrom = [&](const At &at, int64_t lanes) {
    At from(at);
    from[axis] = v_.index(0);
    Value first = emitter_.emit(source, from, lanes);
    v_.storeBuffer(first, result, from);
    v_.carry(v_.index(1), v_.index(type.getDimSize(axis)), 1, first,
             [&](Value i, ValueRange carried) -> SmallVector<Value> {
               At next(at);
               next[axis] = i;
               Value sum = combine(op.getKind(), carried[0], emitter_.emit(source, next, lanes));
               v_.storeBuffer(v_.rounded(sum, type.getElementType()), result, next);
               return {sum};
             });
  };
  if (axis == type.getRank() - 1)
    v_.forEachElement(shape, [&](const At &at) { scanFrom(at, 1); });
  else
    v_.forEachVector(shape, scanFrom);
}

} // namespace ditron::cpu
