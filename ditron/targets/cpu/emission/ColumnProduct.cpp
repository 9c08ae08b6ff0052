// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/ColumnProduct.h"
#include "ditron/targets/cpu/emission/MicroKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace ditron::cpu {

void ColumnProduct::forEachColumns(
    const std::function<void(Value column, ArrayRef<int64_t> widths)> &visit) {
  SmallVector<int64_t> full(block_.vectors, lanes_), last;
  int64_t width = block_.vectors * lanes_, fullColumns = n_ / width * width;
  Value knownColumns = knownExtent(right_, 1, n_);
  Value end = v_.create<arith::MinSIOp>(knownColumns, v_.index(fullColumns));
  v_.forRange(v_.index(0), end, width, [&](Value column) { visit(column, full); });
  for (int64_t left = n_ - fullColumns; left > 0; left -= lanes_)
    last.push_back(std::min(left, lanes_));
  if (!last.empty())
    visit(v_.index(fullColumns), last);
}

PanelProduct::PanelProduct(const DotContext &context, core::DotOp op)
    : ColumnProduct(context, op, op.getRhs(), false) {
  block_ = chooseBlock(shape());
}

void PanelProduct::allocate() {
  panel_ = buffers_.allocate({depth_, block_.vectors * lanes_}, element_);
}

void PanelProduct::packPanel(Value column, ArrayRef<int64_t> widths) {
  whereWhole(v_, reads_.of(right_, buffers_), tileOf(right_).getShape(), [&](Coverage coverage) {
    v_.forRange(v_.index(0), knownDepth_, 1, [&](Value k) {
      int64_t j = 0;
      for (int64_t width : widths) {
        Value part = emitFactor(right_, k, v_.add(column, v_.index(j)), width, coverage);
        v_.storeBuffer(part, panel_, {k, v_.index(j)});
        j += width;
      }
    });
  });
}

/// Some columns of the result, with part of rhs in a panel.
void PanelProduct::multiplyPanel(Value out, Value column, ArrayRef<int64_t> widths) {
  MicroKernel kernel(v_, products_);
  packPanel(column, widths);
  auto right = [&](Value k, int64_t j, int64_t width) {
    return v_.loadBuffer(panel_, {k, v_.index(j)}, width);
  };
  forEachBlock([&](Value row, int64_t height) {
    kernel.emit({row, column, height, widths}, {v_.index(0), knownDepth_}, rows_, right, out);
  });
}

void PanelProduct::multiply(Value out) {
  forEachColumns(
      [&](Value column, ArrayRef<int64_t> widths) { multiplyPanel(out, column, widths); });
}

bool isDirect(const ProductShape &shape) { return chooseDirect(shape).rows > 0; }

static bool mayPair(const DotShape &shape) {
  return shape.depth % 2 == 0 && shape.n % shape.lanes == 0;
}

DirectProduct::DirectProduct(const DotContext &context, core::DotOp op)
    : ColumnProduct(context, op, op.getRhs(), mayPair(DotShape::of(op, context.v))) {
  block_ = chooseDirect(shape());
}

/// Rows of rhs that the first-level cache holds beside as many others.
int64_t DirectProduct::rowsInCache() const {
  constexpr int64_t kBytes = 16384;
  return kBytes / (n_ * core::elementBytes(storageType(source_))) / 2 * 2;
}

/// Rows of rhs that are multiplied by all rows of lhs before the rows behind them: where all columns
/// are not in registers at a time, they stay in the first-level cache. All of them, where rows are so
/// long that the prefetchers of the CPU follow each by itself.
int64_t DirectProduct::rowsOfPart() const {
  return isFollowed() ? depth_ : std::min(rowsInCache(), depth_);
}
bool DirectProduct::isFollowed() const {
  constexpr int64_t kFewest = 16;
  return rowsInCache() < kFewest;
}

/// Brings nearer what lies a part further on, in the order in which it lies in memory: each step of
/// each walk over a part does some of it. `ahead`: the tile that has it.
void DirectProduct::prefetchPart(const Access &ahead, const Step &step) {
  constexpr int64_t kLine = 64;
  int64_t factors = products_.factors(), width = block_.vectors * lanes_, part = rowsOfPart();
  int64_t share = width * factors, pieces = std::max<int64_t>(1, n_ / share); // of a row
  Value walk = v_.create<arith::DivUIOp>(step.column, v_.index(width));
  Value rows = v_.create<arith::SubIOp>(step.k, step.first);
  Value number = v_.add(v_.mul(walk, v_.index(part)), rows);
  number = v_.create<arith::DivUIOp>(number, v_.index(factors));
  Value piece = v_.create<arith::RemUIOp>(number, v_.index(pieces));
  Value row = v_.mul(v_.create<arith::DivUIOp>(number, v_.index(pieces)),
                     v_.index(std::max<int64_t>(1, share / n_)));
  row = v_.add(row, v_.add(step.first, v_.index(part)));
  int64_t elements = kLine / core::elementBytes(storageType(source_));
  for (int64_t i = 0; i * n_ < share; ++i)
    for (int64_t j = 0; j < std::min(share, n_); j += elements) {
      At at(batch_);
      Value column = v_.add(v_.mul(piece, v_.index(share)), v_.index(j));
      at.append({v_.add(row, v_.index(i)), column});
      prefetch(v_, ahead, elementAt(v_, ahead, at));
    }
}

/// The factors of vector `n` of these columns in row k of rhs, where it lies, or in it and the next row.
/// Of two vectors the numbers in a row fill one register: they are read together.
Value DirectProduct::emitColumns(Value k, Value column, int64_t n, ArrayRef<int64_t> widths,
                                 Coverage coverage) {
  if (!products_.areInPairs())
    return emitFactor(right_, k, v_.add(column, v_.index(n * lanes_)), widths[n], coverage);
  int64_t even = n / 2 * 2;
  bool areTwo = even + 1 < static_cast<int64_t>(widths.size()) && widths[even + 1] == lanes_;
  Value first = v_.add(column, v_.index((areTwo ? even : n) * lanes_));
  auto stored = [&](Value row) {
    At at(batch_);
    at.append({row, first});
    const Access &read = *edgeOf(right_);
    return readStored(v_, read, elementAt(v_, read, at), areTwo ? 2 * lanes_ : widths[n], coverage);
  };
  Value upper = stored(k), lower = stored(v_.add(k, v_.index(1)));
  return products_.pairsOf(upper, lower, areTwo ? (n - even) * lanes_ : 0, widths[n]);
}

/// Columns of the result from a part of the rows of rhs before `limit`, where they lie.
void DirectProduct::multiplyPart(Value out, Value first, Value limit, Coverage coverage) {
  MicroKernel kernel(v_, products_);
  Value behind = v_.add(first, v_.index(rowsOfPart()));
  Value end = v_.create<arith::MinSIOp>(behind, limit);
  const Access *read = edgeOf(right_);
  std::optional<Access> ahead;
  if (read && read->unitStride && !isFollowed())
    ahead = tileAhead(v_, *read, batch_.size(), behind);
  forEachColumns([&](Value column, ArrayRef<int64_t> widths) {
    auto right = [&](Value k, int64_t j, int64_t) {
      if (j == 0 && ahead)
        prefetchPart(*ahead, {first, column, k});
      return emitColumns(k, column, j / lanes_, widths, coverage);
    };
    forEachBlock([&](Value row, int64_t height) {
      kernel.emit({row, column, height, widths}, {first, end}, rows_, right, out);
    });
  });
}

/// All columns of the result, with rhs read where it lies.
void DirectProduct::multiply(Value out) {
  RowWalk walk{reads_.of(right_, buffers_),
               tileOf(right_).getShape(),
               edgeOf(right_),
               knownDepth_,
               rowsOfPart(),
               products_.factors()};
  forRows(v_, walk, [&](Value first, Value end, Coverage coverage) {
    multiplyPart(out, first, end, coverage);
  });
}

} // namespace ditron::cpu
