// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/RowKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace ditron::cpu {

Value RowKernel::add(Value x, Value y) {
  return isa<FloatType>(element_) ? v_.create<arith::AddFOp>(x, y).getResult()
                                  : v_.create<arith::AddIOp>(x, y).getResult();
}

Value RowKernel::multiply(Value x, Value y, Value acc) {
  if (isa<FloatType>(element_))
    return v_.create<vector::FMAOp>(x, y, acc);
  return add(v_.create<arith::MulIOp>(x, y), acc);
}

SmallVector<Value> RowKernel::step(const Block &block, Value left, const Right &right, Value k,
                                   int64_t lanes, int64_t which, ValueRange carried) {
  SmallVector<Value> xs, next;
  for (int64_t i = 0; i < block.rows; ++i)
    xs.push_back(v_.create<vector::LoadOp>(vectorOf(lanes), left,
                                           ValueRange{v_.add(block.row, v_.index(i)), k}));
  for (int64_t j = 0; j < block.columns; ++j) {
    Value y = right(v_.add(block.column, v_.index(j)), k, lanes, which);
    for (int64_t i = 0; i < block.rows; ++i)
      next.push_back(multiply(xs[i], y, carried[next.size()]));
  }
  return next;
}

/// Sums of neighbouring lanes of x, then those of y.
Value RowKernel::addPairs(Value x, Value y) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  auto everySecond = [&](int64_t first) {
    SmallVector<int64_t> places;
    for (int64_t n = 0; n < lanes; ++n)
      places.push_back(first + 2 * n);
    return v_.create<vector::ShuffleOp>(x, y, places).getResult();
  };
  Value even = everySecond(0);
  return add(even, everySecond(1));
}

/// The sums of the lanes of each vector, as one vector.
Value RowKernel::acrossLanes(ValueRange vectors) {
  SmallVector<Value> left(vectors);
  while (left.size() > 1) {
    for (size_t n = 0; n < left.size() / 2; ++n)
      left[n] = addPairs(left[2 * n], left[2 * n + 1]);
    left.resize(left.size() / 2);
  }
  Value sums = left.front();
  auto count = static_cast<int64_t>(vectors.size());
  while (cast<VectorType>(sums.getType()).getNumElements() > count) {
    int64_t lanes = cast<VectorType>(sums.getType()).getNumElements();
    auto everySecond = [&](int64_t first) {
      SmallVector<int64_t> places;
      for (int64_t n = first; n < lanes; n += 2)
        places.push_back(n);
      return v_.create<vector::ShuffleOp>(sums, sums, places).getResult();
    };
    Value even = everySecond(0);
    sums = add(even, everySecond(1));
  }
  return sums;
}

/// A vector of sums for each pair of rows, columns outside.
SmallVector<Value> RowKernel::sumsOf(const Block &block, const Terms &terms, Value left,
                                     const Right &right) {
  int64_t pairs = block.rows * block.columns, vectors = terms.step / lanes_;
  auto zeros = [&](int64_t count, int64_t lanes) {
    Value none = v_.create<arith::ConstantOp>(v_.b.getZeroAttr(vectorOf(lanes)));
    return SmallVector<Value>(count, none);
  };
  SmallVector<Value> all =
      v_.carry(v_.index(0), terms.end, terms.step, zeros(pairs * vectors, lanes_),
               [&](Value k, ValueRange carried) {
                 SmallVector<Value> next;
                 for (int64_t n = 0; n < vectors; ++n)
                   next.append(step(block, left, right, v_.add(k, v_.index(n * lanes_)), lanes_, n,
                                    carried.slice(n * pairs, pairs)));
                 return next;
               });
  SmallVector<Value> sums(ArrayRef(all).take_front(pairs));
  for (int64_t n = pairs; n < pairs * vectors; ++n)
    sums[n % pairs] = add(sums[n % pairs], all[n]);
  int64_t k = terms.rest;
  for (; k + lanes_ <= terms.all; k += lanes_)
    sums = step(block, left, right, v_.index(k), lanes_, 0, sums);
  if (k == terms.all)
    return sums;
  // As whole vectors, for their lanes to be added alike.
  int64_t lanes = terms.all - k;
  SmallVector<Value> last = step(block, left, right, v_.index(k), lanes, 0, zeros(pairs, lanes));
  Value none = zeros(1, lanes_).front();
  for (auto [sum, more] : llvm::zip_equal(sums, last))
    sum = add(sum, v_.create<vector::InsertStridedSliceOp>(more, none, ArrayRef<int64_t>{0},
                                                           ArrayRef<int64_t>{1}));
  return sums;
}

void RowKernel::emit(const Block &block, const Terms &terms, Value left, const Right &right,
                     Value result) {
  SmallVector<Value> sums = sumsOf(block, terms, left, right);
  for (int64_t i = 0; i < block.rows; ++i) {
    SmallVector<Value> mine;
    for (int64_t j = 0; j < block.columns; ++j)
      mine.push_back(sums[j * block.rows + i]);
    SmallVector<Value> place{v_.add(block.row, v_.index(i)), block.column};
    Value before = v_.create<vector::LoadOp>(vectorOf(block.columns), result, place);
    v_.create<vector::StoreOp>(add(before, acrossLanes(mine)), result, place);
  }
}

} // namespace ditron::cpu
