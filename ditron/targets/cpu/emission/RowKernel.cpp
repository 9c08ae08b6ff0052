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

namespace {

/// Sums on their way to one lane each: a vector has groups of neighbouring lanes, and the lanes of a
/// group add up to one sum.
struct LaneGroups {
  Value vector;
  SmallVector<int64_t> sums; ///< their numbers, in the order of the groups

  int64_t lanes() const { return cast<VectorType>(vector.getType()).getNumElements(); }
  int64_t width() const { return lanes() / static_cast<int64_t>(sums.size()); }
};

/// Where half of each group of two vectors goes. Groups up to 128 bits stay in their part of the
/// vector, and larger ones go one after the other: each of these is one instruction.
struct HalfGroups {
  SmallVector<int64_t> lanes, sums;
};

} // namespace

/// The first or second halves of the groups of x and y, or of x alone.
static HalfGroups halvesOf(const LaneGroups &x, const LaneGroups *y, bool isSecond) {
  constexpr int64_t kPart = 4; // lanes of 128 bits
  int64_t width = x.width(), half = width / 2, lanes = x.lanes();
  int64_t part = y && width <= kPart ? kPart : lanes;
  HalfGroups result;
  for (int64_t start = 0; start < lanes; start += part)
    for (const LaneGroups *source : {&x, y})
      for (int64_t group = start; source && group < start + part; group += width) {
        result.sums.push_back(source->sums[group / width]);
        for (int64_t n = 0; n < half; ++n)
          result.lanes.push_back((source == y) * lanes + group + (isSecond ? half : 0) + n);
      }
  return result;
}

/// The sums of the lanes of each vector, as one vector. A sum is of halves of its vector, then of
/// quarters, and so on, with whatever others it is computed.
Value RowKernel::acrossLanes(ValueRange vectors) {
  SmallVector<LaneGroups> left;
  for (auto [n, vector] : llvm::enumerate(vectors))
    left.push_back({vector, {static_cast<int64_t>(n)}});
  auto joined = [&](const LaneGroups &x, const LaneGroups *y) {
    HalfGroups first = halvesOf(x, y, false), second = halvesOf(x, y, true);
    Value other = y ? y->vector : x.vector;
    Value firsts = v_.create<vector::ShuffleOp>(x.vector, other, first.lanes);
    Value seconds = v_.create<vector::ShuffleOp>(x.vector, other, second.lanes);
    return LaneGroups{products_.add(firsts, seconds), first.sums};
  };
  for (; left.size() > 1; left.resize(left.size() / 2))
    for (size_t n = 0; n < left.size() / 2; ++n)
      left[n] = joined(left[2 * n], &left[2 * n + 1]);
  while (left.front().width() > 1)
    left.front() = joined(left.front(), nullptr);
  SmallVector<int64_t> order(vectors.size());
  for (auto [lane, sum] : llvm::enumerate(left.front().sums))
    order[sum] = static_cast<int64_t>(lane);
  return v_.create<vector::ShuffleOp>(left.front().vector, left.front().vector, order);
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

void RowKernel::emit(const Block &block, const Terms &terms, Value left, const Right &right,
                     Value result) {
  SmallVector<Value> sums = sumsOf(block, terms, left, right);
  for (int64_t i = 0, together; i < block.rows; i += together) {
    together = rowsTogether(block.rows - i, block.columns);
    SmallVector<Value> mine;
    for (int64_t row = i; row < i + together; ++row)
      for (int64_t j = 0; j < block.columns; ++j)
        mine.push_back(sums[j * block.rows + row]);
    Value all = acrossLanes(mine);
    for (int64_t n = 0; n < together; ++n) {
      SmallVector<Value> place{v_.add(block.row, v_.index(i + n)), block.column};
      Value before = v_.create<vector::LoadOp>(products_.sumsOf(block.columns), result, place);
      Value more = v_.create<vector::ExtractStridedSliceOp>(
          all, ArrayRef<int64_t>{n * block.columns}, ArrayRef<int64_t>{block.columns},
          ArrayRef<int64_t>{1});
      v_.create<vector::StoreOp>(products_.add(before, more), result, place);
    }
  }
}

} // namespace ditron::cpu
