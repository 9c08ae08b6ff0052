// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/RowKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace ditron::cpu {

SmallVector<Value> RowKernel::step(const Block &block, Value left, const Right &right, Value k,
                                   int64_t lanes, int64_t which, ValueRange carried) {
  SmallVector<Value> xs, next;
  for (int64_t i = 0; i < block.rows; ++i)
    xs.push_back(products_.load(left, {v_.add(block.row, v_.index(i)), k}, lanes));
  for (int64_t j = 0; j < block.columns; ++j) {
    Value y = right(v_.add(block.column, v_.index(j)), k, lanes, which);
    for (int64_t i = 0; i < block.rows; ++i)
      next.push_back(products_.multiplyAdd(xs[i], y, carried[next.size()]));
  }
  return next;
}

/// A vector of sums for each pair of rows, columns outside.
SmallVector<Value> RowKernel::sumsOf(const Block &block, const Terms &terms, Value left,
                                     const Right &right) {
  int64_t pairs = block.rows * block.columns, width = lanes_ * products_.factors(),
          vectors = terms.step / width;
  auto zeros = [&](int64_t count, int64_t lanes) {
    Value none = v_.create<arith::ConstantOp>(v_.b.getZeroAttr(products_.sumsOf(lanes)));
    return SmallVector<Value>(count, none);
  };
  SmallVector<Value> all =
      v_.carry(v_.index(0), terms.end, terms.step, zeros(pairs * vectors, lanes_),
               [&](Value k, ValueRange carried) {
                 SmallVector<Value> next;
                 for (int64_t n = 0; n < vectors; ++n)
                   next.append(step(block, left, right, v_.add(k, v_.index(n * width)), lanes_, n,
                                    carried.slice(n * pairs, pairs)));
                 return next;
               });
  SmallVector<Value> sums(ArrayRef(all).take_front(pairs));
  for (int64_t n = pairs; n < pairs * vectors; ++n)
    sums[n % pairs] = products_.add(sums[n % pairs], all[n]);
  int64_t k = terms.rest;
  for (; k + width <= terms.all; k += width)
    sums = step(block, left, right, v_.index(k), lanes_, 0, sums);
  if (k == terms.all)
    return sums;
  // As whole vectors, for their lanes to be added alike.
  int64_t lanes = terms.all - k;
  SmallVector<Value> last = step(block, left, right, v_.index(k), lanes, 0, zeros(pairs, lanes));
  Value none = zeros(1, lanes_).front();
  for (auto [sum, more] : llvm::zip_equal(sums, last))
    sum = products_.add(sum, v_.create<vector::InsertStridedSliceOp>(
                                 more, none, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1}));
  return sums;
}

/// Rows of the left side whose sums are added across lanes together: a power of two, up to `rows`.
int64_t RowKernel::rowsTogether(int64_t rows, int64_t columns) const {
  int64_t together = 1;
  while (2 * together <= rows && 2 * together * columns <= lanes_)
    together *= 2;
  return together;
}

std::vector<RowKernel::Together> RowKernel::partsOf(const Block &block) {
  std::vector<Together> parts;
  for (int64_t i = 0, rows; i < block.rows; i += rows) {
    rows = rowsTogether(block.rows - i, block.columns);
    parts.push_back({i, rows, LaneSums(v_, products_, rows * block.columns)});
  }
  return parts;
}

/// What is in column j: a vector of sums for each row.
void RowKernel::addColumn(MutableArrayRef<Together> parts, const Block &block, int64_t j,
                          ValueRange sums) {
  for (Together &part : parts)
    for (int64_t n = 0; n < part.rows; ++n)
      part.sums.add(sums[part.first + n], n * block.columns + j);
}

/// Adds the sums to the result.
void RowKernel::store(const Block &block, Together &part, Value result) {
  Value all = part.sums.finish();
  for (int64_t n = 0; n < part.rows; ++n) {
    SmallVector<Value> place{v_.add(block.row, v_.index(part.first + n)), block.column};
    Value before = v_.create<vector::LoadOp>(products_.sumsOf(block.columns), result, place);
    Value more = v_.create<vector::ExtractStridedSliceOp>(all, ArrayRef<int64_t>{n * block.columns},
                                                          ArrayRef<int64_t>{block.columns},
                                                          ArrayRef<int64_t>{1});
    v_.create<vector::StoreOp>(products_.add(before, more), result, place);
  }
}

void RowKernel::emit(const Block &block, const Terms &terms, Value left, const Right &right,
                     Value result) {
  SmallVector<Value> sums = sumsOf(block, terms, left, right);
  std::vector<Together> parts = partsOf(block);
  for (int64_t j = 0; j < block.columns; ++j)
    addColumn(parts, block, j, ArrayRef(sums).slice(j * block.rows, block.rows));
  for (Together &part : parts)
    store(block, part, result);
}

RowKernel::Held RowKernel::hold(Value left, Value row, int64_t rows, int64_t terms) {
  int64_t width = lanes_ * products_.factors();
  Held held(rows);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < terms; k += width)
      held[i].push_back(products_.load(left, {v_.add(row, v_.index(i)), v_.index(k)}, lanes_));
  return held;
}

void RowKernel::emit(const Block &block, const Held &left, const Right &right, Value result) {
  int64_t width = lanes_ * products_.factors();
  Value none = v_.create<arith::ConstantOp>(v_.b.getZeroAttr(products_.sumsOf(lanes_)));
  std::vector<Together> parts = partsOf(block);
  for (int64_t j = 0; j < block.columns; ++j) {
    SmallVector<Value> sums(block.rows, none);
    for (size_t n = 0; n < left.front().size(); ++n) {
      Value k = v_.index(static_cast<int64_t>(n) * width);
      Value y = right(v_.add(block.column, v_.index(j)), k, lanes_, 0);
      for (auto [sum, row] : llvm::zip_equal(sums, left))
        sum = products_.multiplyAdd(row[n], y, sum);
    }
    addColumn(parts, block, j, sums);
  }
  for (Together &part : parts)
    store(block, part, result);
}

} // namespace ditron::cpu
