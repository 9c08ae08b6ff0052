// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/Dot.h"
#include "ditron/targets/cpu/emission/MicroKernel.h"
#include "ditron/targets/cpu/emission/RowKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::cpu {

/// Of lhs, up to which products of rows by rows are worth more than packing rhs.
static constexpr int64_t kFewRows = 64;

Value rowsOfRight(core::DotOp op, int64_t lanes) {
  auto transpose = op.getRhs().getDefiningOp<core::TransposeOp>();
  if (!transpose || !transpose->hasOneUse() || transpose->getBlock() != op->getBlock())
    return {};
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  auto rank = static_cast<int64_t>(permutation.size());
  for (int64_t d = 0; d + 2 < rank; ++d)
    if (permutation[d] != d)
      return {};
  bool isSwapped = permutation[rank - 1] == rank - 2;
  Value rows = transpose.getSource();
  bool isWorthwhile = tileOf(rows).getShape().back() >= lanes &&
                      tileOf(op.getResult()).getShape().end()[-2] <= kFewRows;
  return isSwapped && isWorthwhile ? rows : Value();
}

DotLowering::DotLowering(VectorBuilder &v, TileBuffers &buffers, const ViewReads &reads,
                         TileEmitter &emitter, core::DotOp op)
    : v_(v), buffers_(buffers), reads_(reads), emitter_(emitter), op_(op),
      source_(tileOf(op.getLhs()).getElementType()),
      element_(tileOf(op.getResult()).getElementType()),
      m_(tileOf(op.getResult()).getShape().end()[-2]), n_(tileOf(op.getResult()).getShape().back()),
      depth_(tileOf(op.getLhs()).getShape().back()), lanes_(v.lanesOf(element_)),
      right_(buffers.has(op.getRhs()) ? Value() : rowsOfRight(op, lanes_)),
      isDirect_(!right_ && chooseDirect(shape()).rows > 0),
      products_(v, element_, multipliesPairs()) {
  int64_t vectors = depth_ / lanesOfFactors();
  isHeld_ = right_ && depth_ % lanesOfFactors() == 0 && chooseHeld(shape(), vectors).rows > 0;
  block_ = isHeld_     ? chooseHeld(shape(), vectors)
           : right_    ? chooseRows(shape(), sumsOfPair(vectors))
           : isDirect_ ? chooseDirect(shape())
                       : chooseBlock(shape());
}

/// Whether rhs is read as it is stored, and multiplied pair by pair.
bool DotLowering::multipliesPairs() {
  const Access *rhs = edgeOf(right_ ? right_ : op_.getRhs());
  if (!v_.target.multipliesPairs || !source_.isBF16() || !element_.isF32() || !rhs ||
      !rhs->unitStride)
    return false;
  return right_ ? depth_ % (2 * lanes_) == 0 : isDirect_ && depth_ % 2 == 0 && n_ % lanes_ == 0;
}

/// How far a dimension (2 rows, 1 columns, from the end) of an operand reaches into its view.
static Value knownExtent(VectorBuilder &v, const Access *access, int64_t fromEnd, int64_t whole) {
  if (!access)
    return v.index(whole);
  size_t d = access->sizes.size() - fromEnd;
  Value rest = v.create<arith::SubIOp>(access->sizes[d], access->start[d]);
  Value zero = v.index(0);
  Value all = v.index(whole);
  return v.create<arith::MaxSIOp>(v.create<arith::MinSIOp>(rest, all), zero);
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

Value DotLowering::emitFactor(Value operand, Value i, Value j, int64_t lanes, Coverage coverage) {
  At at(batch_);
  at.append({i, j});
  return v_.convert(emitter_.emit(operand, at, lanes, coverage), source_, element_,
                    core::Rounding::nearest_even, false);
}

/// The access of an operand that is read from a view where it is used, with zeros beyond it.
const Access *DotLowering::edgeOf(Value operand) const {
  auto load = operand.getDefiningOp<core::LoadOp>();
  if (!load || buffers_.has(operand) || load.getPadding())
    return nullptr;
  return &reads_.at(load);
}

void DotLowering::packRows() {
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

void DotLowering::packPanel(Value column, ArrayRef<int64_t> widths) {
  Value rhs = op_.getRhs();
  whereWhole(v_, reads_.of(rhs, buffers_), tileOf(rhs).getShape(), [&](Coverage coverage) {
    v_.forRange(v_.index(0), knownDepth_, 1, [&](Value k) {
      int64_t j = 0;
      for (int64_t width : widths) {
        Value part = emitFactor(rhs, k, v_.add(column, v_.index(j)), width, coverage);
        v_.storeBuffer(part, panel_, {k, v_.index(j)});
        j += width;
      }
    });
  });
}

/// Some columns of the result, with part of rhs in a panel.
void DotLowering::multiplyPanel(Value out, Value column, ArrayRef<int64_t> widths) {
  MicroKernel kernel(v_, products_);
  packPanel(column, widths);
  auto right = [&](Value k, int64_t j, int64_t width) {
    return v_.loadBuffer(panel_, {k, v_.index(j)}, width);
  };
  forEachBlock([&](Value row, int64_t height) {
    kernel.emit({row, column, height, widths}, {v_.index(0), knownDepth_}, rows_, right, out);
  });
}

/// Rows of rhs that the first-level cache holds beside as many others.
int64_t DotLowering::rowsInCache() const {
  constexpr int64_t kBytes = 16384;
  return kBytes / (n_ * core::elementBytes(storageType(source_))) / 2 * 2;
}

/// Rows of rhs that are multiplied by all rows of lhs before the rows behind them: where all columns
/// are not in registers at a time, they stay in the first-level cache. All of them, where rows are so
/// long that the prefetchers of the CPU follow each by itself.
int64_t DotLowering::rowsOfPart() const {
  return isFollowed() ? depth_ : std::min(rowsInCache(), depth_);
}
bool DotLowering::isFollowed() const {
  constexpr int64_t kFewest = 16;
  return rowsInCache() < kFewest;
}

/// Brings nearer what lies a part further on, in the order in which it lies in memory: each step of
/// each walk over a part does some of it. `ahead`: the tile that has it.
void DotLowering::prefetchPart(const Access &ahead, const Step &step) {
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
Value DotLowering::emitColumns(Value k, Value column, int64_t n, ArrayRef<int64_t> widths,
                               Coverage coverage) {
  Value rhs = op_.getRhs();
  if (!products_.areInPairs())
    return emitFactor(rhs, k, v_.add(column, v_.index(n * lanes_)), widths[n], coverage);
  int64_t even = n / 2 * 2;
  bool areTwo = even + 1 < static_cast<int64_t>(widths.size()) && widths[even + 1] == lanes_;
  Value first = v_.add(column, v_.index((areTwo ? even : n) * lanes_));
  auto stored = [&](Value row) {
    At at(batch_);
    at.append({row, first});
    const Access &read = *edgeOf(rhs);
    return readStored(v_, read, elementAt(v_, read, at), areTwo ? 2 * lanes_ : widths[n], coverage);
  };
  Value upper = stored(k), lower = stored(v_.add(k, v_.index(1)));
  return products_.pairsOf(upper, lower, areTwo ? (n - even) * lanes_ : 0, widths[n]);
}

/// Columns of the result from a part of the rows of rhs before `limit`, where they lie.
void DotLowering::multiplyPart(Value out, Value first, Value limit, Coverage coverage) {
  MicroKernel kernel(v_, products_);
  Value behind = v_.add(first, v_.index(rowsOfPart()));
  Value end = v_.create<arith::MinSIOp>(behind, limit);
  const Access *read = edgeOf(op_.getRhs());
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
void DotLowering::multiplyDirectly(Value out) {
  Value rhs = op_.getRhs();
  RowWalk walk{
      reads_.of(rhs, buffers_), tileOf(rhs).getShape(), edgeOf(rhs), knownDepth_, rowsOfPart(),
      products_.factors()};
  forRows(v_, walk, [&](Value first, Value end, Coverage coverage) {
    multiplyPart(out, first, end, coverage);
  });
}

/// Blocks of rows of lhs that hold something.
void DotLowering::forEachBlock(const std::function<void(Value row, int64_t height)> &visit) {
  int64_t height = block_.rows, whole = m_ / height, rest = m_ % height;
  Value wholeBlocks = v_.create<arith::MinSIOp>(blocks_, v_.index(whole));
  v_.forRange(v_.index(0), v_.mul(wholeBlocks, v_.index(height)), height,
              [&](Value row) { visit(row, height); });
  if (rest == 0)
    return;
  Value reaches = v_.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, blocks_, v_.index(whole));
  auto branch = v_.create<scf::IfOp>(reaches, false);
  OpBuilder::InsertionGuard guard(v_.b);
  v_.b.setInsertionPoint(branch.thenBlock()->getTerminator());
  visit(v_.index(whole * height), rest);
}

void DotLowering::multiplyMatrix(Value out) {
  const Access *lhs = edgeOf(op_.getLhs()), *rhs = edgeOf(right_ ? right_ : op_.getRhs());
  Value knownRows = knownExtent(v_, lhs, 2, m_);
  knownDepth_ = v_.create<arith::MinSIOp>(knownExtent(v_, lhs, 1, depth_),
                                          knownExtent(v_, rhs, right_ ? 1 : 2, depth_));
  blocks_ = v_.create<arith::CeilDivSIOp>(knownRows, v_.index(block_.rows));
  packRows();
  if (right_)
    multiplyByRows(out);
  else if (isDirect_)
    multiplyDirectly(out);
  else
    forEachColumns(
        [&](Value column, ArrayRef<int64_t> widths) { multiplyPanel(out, column, widths); });
}

/// Vectors of columns that are multiplied at a time; the last ones may be shorter.
void DotLowering::forEachColumns(
    const std::function<void(Value column, ArrayRef<int64_t> widths)> &visit) {
  SmallVector<int64_t> full(block_.vectors, lanes_), last;
  int64_t width = block_.vectors * lanes_, fullColumns = n_ / width * width;
  Value knownColumns = knownExtent(v_, edgeOf(op_.getRhs()), 1, n_);
  Value end = v_.create<arith::MinSIOp>(knownColumns, v_.index(fullColumns));
  v_.forRange(v_.index(0), end, width, [&](Value column) { visit(column, full); });
  for (int64_t left = n_ - fullColumns; left > 0; left -= lanes_)
    last.push_back(std::min(left, lanes_));
  if (!last.empty())
    visit(v_.index(fullColumns), last);
}

/// Rows of rhs in the compute type, for several blocks of rows of lhs.
void DotLowering::packRight(Value column, int64_t columns, Coverage coverage) {
  int64_t full = depth_ / lanes_ * lanes_;
  auto pack = [&](Value k, int64_t lanes) {
    for (int64_t j = 0; j < columns; ++j) {
      Value row = emitFactor(right_, v_.add(column, v_.index(j)), k, lanes, coverage);
      v_.storeBuffer(row, panel_, {v_.index(j), k});
    }
  };
  v_.forRange(v_.index(0), v_.index(full), lanes_, [&](Value k) { pack(k, lanes_); });
  if (depth_ > full)
    pack(v_.index(full), depth_ - full);
}

/// What is read from a view, or converted as it is read.
static bool isRead(Value tile) {
  auto cast = tile.getDefiningOp<core::CastOp>();
  return (cast ? cast.getSource() : tile).getDefiningOp<core::LoadOp>() != nullptr;
}

/// How many rows further on those are that are brought nearer while a row of rhs is multiplied; 0:
/// none. The prefetchers of the CPU follow long rows by themselves. Of short ones, and of those that
/// are computed, the arithmetic takes so much of the core's window of instructions that it does not
/// look far ahead in memory.
int64_t DotLowering::rowsAhead() const {
  constexpr int64_t kAhead = 16384, kAheadOfComputed = 8192; // bytes
  if (!isRead(right_))
    return std::max<int64_t>(1, kAheadOfComputed / depth_);
  int64_t bytes = depth_ * core::elementBytes(storageType(source_));
  bool isOnce = m_ <= block_.rows; // for several blocks of lhs they are near after the first
  bool isAhead = isOnce && isShortRow(depth_ / lanesOfFactors());
  return isAhead ? std::min(kAhead / bytes, n_) : 0; // of this tile and the next
}

/// Part of a row of rhs, for so many lanes.
Value DotLowering::emitRight(Value row, Value k, int64_t lanes, int64_t which, Coverage coverage) {
  int64_t ahead = rowsAhead();
  At at(batch_);
  at.append({row, k});
  if (products_.areInPairs()) {
    const Access &read = *edgeOf(right_);
    Value factors = readStored(v_, read, elementAt(v_, read, at), 2 * lanes, coverage);
    at.end()[-2] = v_.add(row, v_.index(ahead));
    Access there = tileAhead(v_, read, at.size() - 2, at.end()[-2]);
    if (ahead)
      prefetch(v_, there, elementAt(v_, there, at));
    return factors;
  }
  Value vector = ahead ? emitter_.emitAhead(right_, at, lanes, coverage, ahead, which)
                       : emitter_.emit(right_, at, lanes, coverage);
  return v_.convert(vector, source_, element_, core::Rounding::nearest_even, false);
}

void DotLowering::multiplyRows(Value out, Value column, int64_t columns, Coverage coverage) {
  RowKernel kernel(v_, products_, lanes_);
  if (panel_)
    packRight(column, columns, coverage);
  auto right = [&](Value row, Value k, int64_t lanes, int64_t which) {
    if (!panel_)
      return emitRight(row, k, lanes, which, coverage);
    Value inPanel = v_.create<arith::SubIOp>(row, column);
    return v_.loadBuffer(panel_, {inPanel, k}, lanes);
  };
  forEachBlock([&](Value row, int64_t height) {
    int64_t step = sumsOfPair(depth_ / lanesOfFactors()) * lanesOfFactors();
    int64_t full = depth_ / step * step;
    Value end = v_.index(full);
    if (coverage == Coverage::masked) {
      Value steps = v_.create<arith::CeilDivSIOp>(knownDepth_, v_.index(step));
      end = v_.create<arith::MinSIOp>(v_.mul(steps, v_.index(step)), end);
    }
    kernel.emit({row, column, height, columns}, {end, step, full, depth_}, rows_, right, out);
  });
}

/// The same with rows of lhs in registers.
void DotLowering::multiplyByHeldRows(Value out) {
  RowKernel kernel(v_, products_, lanes_);
  forEachBlock([&](Value row, int64_t height) {
    RowKernel::Held held = kernel.hold(rows_, row, height, depth_);
    forEachRight([&](Value column, int64_t columns, Coverage coverage) {
      auto right = [&](Value row, Value k, int64_t lanes, int64_t which) {
        return emitRight(row, k, lanes, which, coverage);
      };
      kernel.emit({row, column, height, columns}, held, right, out);
    });
  });
}

/// Blocks of rows of rhs that hold something.
void DotLowering::forEachRight(const VisitRight &visit) {
  int64_t columns = block_.vectors, full = n_ / columns * columns;
  Value knownRows = knownExtent(v_, edgeOf(right_), 2, n_);
  Value end = v_.create<arith::MinSIOp>(knownRows, v_.index(full));
  RowWalk walk{reads_.of(right_, buffers_),
               tileOf(right_).getShape(),
               edgeOf(right_),
               end,
               columns,
               columns};
  forRows(v_, walk,
          [&](Value column, Value, Coverage coverage) { visit(column, columns, coverage); });
  for (int64_t column = full, count = columns; column < n_; column += count) {
    while (column + count > n_)
      count /= 2;
    visit(v_.index(column), count, Coverage::masked);
  }
}

void DotLowering::multiplyByRows(Value out) {
  if (isHeld_)
    return multiplyByHeldRows(out);
  forEachRight([&](Value column, int64_t columns, Coverage coverage) {
    multiplyRows(out, column, columns, coverage);
  });
}

/// Whether rows of rhs are multiplied as they are stored.
bool DotLowering::isReadAsItIs() const {
  return products_.areInPairs() || (edgeOf(right_) && storageType(source_) == element_);
}

void DotLowering::addTo(Value result) {
  Scratch &scratch = buffers_.scratch();
  int64_t mark = scratch.mark();
  rows_ = buffers_.allocate({m_, depth_}, products_.areInPairs() ? source_ : element_);
  if (!right_ && !isDirect_)
    panel_ = buffers_.allocate({depth_, block_.vectors * lanes_}, element_);
  else if (right_ && m_ > block_.rows && !isReadAsItIs())
    panel_ = buffers_.allocate({block_.vectors, depth_}, element_);
  v_.forEachElement(tileOf(op_.getResult()).getShape().drop_back(2), [&](const At &batch) {
    batch_ = batch;
    multiplyMatrix(matrixOf(v_, result, batch));
  });
  scratch.release(mark);
}

} // namespace ditron::cpu
