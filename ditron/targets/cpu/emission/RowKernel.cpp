// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/RowKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace ditron::cpu {

RowKernel::Sums RowKernel::step(const Block &block, Value left, const Right &right, Value k,
                                int64_t lanes, int64_t which, ValueRange carried) {
  Sums xs, next;
  for (int64_t i = 0; i < block.rows; ++i)
    xs.push_back(products_.load(left, {v_.add(block.row, v_.index(i)), k}, lanes));
  for (int64_t j = 0; j < block.columns; ++j) {
    Value y = right(v_.add(block.column, v_.index(j)), k, lanes, which);
    for (int64_t i = 0; i < block.rows; ++i)
      next.push_back(products_.multiplyAdd(xs[i], y, carried[next.size()]));
  }
  return next;
}

RowKernel::Sums RowKernel::zeros(const Block &block) {
  Value none = v_.create<arith::ConstantOp>(v_.b.getZeroAttr(products_.sumsOf(lanes_)));
  return Sums(block.rows * block.columns, none);
}

RowKernel::Sums RowKernel::add(const Block &block, const Steps &steps, Value left,
                               const Right &right, ValueRange sums) {
  return v_.carry(steps.first, steps.end, steps.step, sums, [&](Value k, ValueRange carried) {
    Sums next(carried);
    for (int64_t n = 0; n < steps.step / width(); ++n)
      next = step(block, left, right, v_.add(k, v_.index(n * width())), lanes_, n, next);
    return next;
  });
}

/// The sums and those of the terms behind the steps.
RowKernel::Sums RowKernel::addRest(const Block &block, const Rest &rest, Value left,
                                   const Right &right, Sums sums) {
  int64_t k = rest.first;
  for (; k + width() <= rest.end; k += width())
    sums = step(block, left, right, v_.index(k), lanes_, 0, sums);
  if (k == rest.end)
    return sums;
  // As whole vectors, for their lanes to be added alike.
  int64_t lanes = rest.end - k;
  Value few = v_.create<arith::ConstantOp>(v_.b.getZeroAttr(products_.sumsOf(lanes)));
  Sums last = step(block, left, right, v_.index(k), lanes, 0, Sums(sums.size(), few));
  Value none = zeros(block).front();
  for (auto [sum, more] : llvm::zip_equal(sums, last))
    sum = products_.add(sum, v_.create<vector::InsertStridedSliceOp>(
                                 more, none, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1}));
  return sums;
}

void RowKernel::finish(const Block &block, const Rest &rest, Value left, const Right &right,
                       ValueRange sums, Value result) {
  Sums all = addRest(block, rest, left, right, Sums(sums));
  std::vector<Together> parts = partsOf(block);
  for (int64_t j = 0; j < block.columns; ++j)
    addColumn(parts, block, j, ArrayRef(all).slice(j * block.rows, block.rows));
  for (Together &part : parts)
    store(block, part, result);
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

RowKernel::Held RowKernel::hold(Value left, Value row, int64_t rows, int64_t terms) {
  Held held(rows);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < terms; k += width())
      held[i].push_back(products_.load(left, {v_.add(row, v_.index(i)), v_.index(k)}, lanes_));
  return held;
}

void RowKernel::emit(const Block &block, const Held &left, const Right &right, Value result) {
  Value none = zeros(block).front();
  std::vector<Together> parts = partsOf(block);
  for (int64_t j = 0; j < block.columns; ++j) {
    SmallVector<Value> sums(block.rows, none);
    for (size_t n = 0; n < left.front().size(); ++n) {
      Value k = v_.index(static_cast<int64_t>(n) * width());
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
