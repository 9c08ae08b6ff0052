// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/emission/RowProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

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

RowProduct::RowProduct(const DotContext &context, core::DotOp op, Value right)
    : DotProduct(context, op, right,
                 DotShape::of(op, context.v).depth % (2 * DotShape::of(op, context.v).lanes) == 0) {
  RegisterBlock held = chooseHeld(shape(), depth_ / lanesOfFactors());
  isHeld_ = depth_ % lanesOfFactors() == 0 && held.rows > 0;
  block_ = isHeld_ ? held : chooseRows(shape(), reads());
}

/// Rows of lhs at the same place in pages of memory would share a few sets of the caches.
int64_t RowProduct::rowPitch() const { return depth_ + (takesPieces() ? 2 * lanesOfFactors() : 0); }

void RowProduct::allocate() {
  if (m_ > block_.rows && !isReadAsItIs())
    panel_ = buffers_.allocate({block_.vectors, takesPieces() ? termsOfPiece() : depth_}, element_);
  if (takesPieces())
    sums_ = buffers_.allocate({m_ * block_.vectors, lanes_}, element_);
}

/// Whether rows of rhs are multiplied as they are stored.
bool RowProduct::isReadAsItIs() const {
  return products_.areInPairs() || (edgeOf(right_) && storageType(source_) == element_);
}

/// What is read from a view, or converted as it is read.
static bool isRead(Value tile) {
  auto cast = tile.getDefiningOp<core::CastOp>();
  return (cast ? cast.getSource() : tile).getDefiningOp<core::LoadOp>() != nullptr;
}

/// Vectors of a row that are multiplied one after the other in a step.
static constexpr int64_t kVectorsOfStep = 4;
int64_t RowProduct::termsOfStep() const { return kVectorsOfStep * lanesOfFactors(); }
/// Terms of a row in whole steps.
int64_t RowProduct::termsOfSteps() const { return depth_ / termsOfStep() * termsOfStep(); }

/// Where the steps end: with the views.
Value RowProduct::endOfSteps(Coverage coverage) {
  Value all = v_.index(termsOfSteps());
  if (coverage != Coverage::masked)
    return all;
  Value step = v_.index(termsOfStep()), known = v_.create<arith::CeilDivSIOp>(knownDepth_, step);
  return v_.create<arith::MinSIOp>(v_.mul(known, step), all);
}

/// Of a factor as it is multiplied.
int64_t RowProduct::bytesOfFactor() const {
  return core::elementBytes(products_.areInPairs() ? source_ : element_);
}

/// Terms of a piece of a row: the first-level cache holds it for several rows of both sides. Pieces are
/// alike, for each takes the time in which the sums of all blocks are read and written.
int64_t RowProduct::termsOfPiece() const {
  constexpr int64_t kBytes = 2048;
  int64_t bytes = depth_ * bytesOfFactor();
  int64_t pieces = std::max<int64_t>(1, (bytes + kBytes / 2) / kBytes);
  return llvm::alignTo(llvm::divideCeil(depth_, pieces), termsOfStep());
}
/// Whether rows of rhs are multiplied in pieces: where all rows of lhs are too long for the first-level
/// cache, and take several blocks.
bool RowProduct::takesPieces() const {
  return !isHeld_ && m_ > block_.rows && depth_ > termsOfPiece();
}

bool RowProduct::isShort() const { return isShortRow(depth_ / lanesOfFactors()); }

/// Rows of rhs that are read side by side. A long row in memory is best read alone by one row of lhs, for
/// prefetchers of the CPU follow one stream best; if its vectors have to be widened or computed, they come
/// faster than one sum takes additions.
RowReads RowProduct::reads() const {
  constexpr int64_t kMost = 8, kOfLong = 4, kLine = 64, kCache = 32768;
  bool isFar = m_ * termsOfPiece() * bytesOfFactor() > kCache;
  if (isShort() || isFar)
    return {std::min(kMost, lanes_), isFar}; // a vector has a sum of each
  if (m_ > 1 || !isRead(right_))
    return {kOfLong, isFar};
  int64_t bytes = lanesOfFactors() * core::elementBytes(storageType(source_));
  return {isReadAsItIs() ? 1 : std::clamp<int64_t>(kLine / bytes, 1, kOfLong), isFar};
}

/// The places of the sums of a block between pieces.
SmallVector<At> RowProduct::placesOfSums(const RowKernel::Block &block) {
  SmallVector<At> places;
  Value first = v_.mul(block.row, v_.index(block.columns));
  for (int64_t n = 0; n < block.rows * block.columns; ++n)
    places.push_back({v_.add(first, v_.index(n)), v_.index(0)});
  return places;
}
void RowProduct::storeSums(const RowKernel::Block &block, const RowKernel::Sums &sums) {
  for (auto [place, sum] : llvm::zip_equal(placesOfSums(block), sums))
    v_.storeBuffer(sum, sums_, place);
}
RowKernel::Sums RowProduct::loadSums(const RowKernel::Block &block) {
  RowKernel::Sums sums;
  for (const At &place : placesOfSums(block))
    sums.push_back(v_.loadBuffer(sums_, place, lanes_));
  return sums;
}

/// How many rows further on those are that are brought nearer while a row of rhs is multiplied by the first
/// block of rows of lhs; 0: none. The prefetchers of the CPU follow a long row that is read once, and as it
/// is stored, by themselves. Of short ones, and of those that are computed, the arithmetic takes so much of the core's
/// window of instructions that it does not look far ahead in memory. Nor does it beyond other blocks,
/// for which short rows are near.
int64_t RowProduct::rowsAhead() const {
  constexpr int64_t kAhead = 16384, kAheadOfComputed = 8192; // bytes
  if (!isRead(right_))
    return llvm::alignTo(std::max<int64_t>(1, kAheadOfComputed / depth_), block_.vectors);
  bool isOnce = m_ <= block_.rows;
  bool isAlone = isOnce && (m_ > 1 || block_.vectors == 1);
  if (!isShort())
    return isAlone ? 0 : block_.vectors;
  int64_t bytes = depth_ * core::elementBytes(storageType(source_));
  return isOnce ? std::min(kAhead / bytes, n_) : 0; // of this tile and the next
}

/// Part of a row of rhs as it is multiplied.
Value RowProduct::emitRight(const Columns &columns, const Part &part) {
  At at(batch_);
  at.append({part.row, part.k});
  if (products_.areInPairs()) {
    const Access &read = *edgeOf(right_);
    Value factors = readStored(v_, read, elementAt(v_, read, at), 2 * part.lanes, columns.coverage);
    if (!columns.ahead)
      return factors;
    at.end()[-2] = v_.add(part.row, v_.index(columns.ahead));
    Access there = tileAhead(v_, read, at.size() - 2, at.end()[-2]);
    prefetch(v_, there, elementAt(v_, there, at));
    return factors;
  }
  Value vector = columns.ahead ? emitter_.emitAhead(right_, at, part.lanes, columns.coverage,
                                                    columns.ahead, part.which)
                               : emitter_.emit(right_, at, part.lanes, columns.coverage);
  return v_.convert(vector, source_, element_, core::Rounding::nearest_even, false);
}

/// Rows of rhs in the compute type, for several blocks of rows of lhs.
void RowProduct::packRight(const Columns &columns, const Terms &terms) {
  auto pack = [&](Value k, int64_t lanes, int64_t which) {
    Value inPanel = v_.create<arith::SubIOp>(k, terms.first);
    for (int64_t j = 0; j < columns.count; ++j) {
      Value row = emitRight(columns, {v_.add(columns.first, v_.index(j)), k, lanes, which});
      v_.storeBuffer(row, panel_, {v_.index(j), inPanel});
    }
  };
  v_.forRange(terms.first, terms.end, termsOfStep(), [&](Value k) {
    for (int64_t n = 0; n < kVectorsOfStep; ++n)
      pack(v_.add(k, v_.index(n * lanes_)), lanes_, n);
  });
  for (int64_t k = 0; k < terms.rest; k += lanes_)
    pack(v_.add(terms.end, v_.index(k)), std::min(lanes_, terms.rest - k), 0);
}

/// Rows of rhs from a panel that has them from `first` on, or where they lie.
RowKernel::Right RowProduct::rightOf(const Columns &columns, Value first) {
  if (!panel_)
    return [this, columns](Value row, Value k, int64_t lanes, int64_t which) {
      return emitRight(columns, {row, k, lanes, which});
    };
  return [this, columns, first](Value row, Value k, int64_t lanes, int64_t) {
    Value inPanel = v_.create<arith::SubIOp>(row, columns.first);
    return v_.loadBuffer(panel_, {inPanel, v_.create<arith::SubIOp>(k, first)}, lanes);
  };
}

/// Columns of the result by all terms.
void RowProduct::multiplyRows(Value out, const Columns &columns) {
  RowKernel kernel(v_, products_, lanes_);
  Value first = v_.index(0);
  RowKernel::Steps steps{first, endOfSteps(columns.coverage), termsOfStep()};
  if (panel_)
    packRight(columns, {first, v_.index(termsOfSteps()), depth_ - termsOfSteps()});
  forEachBlock(columns, first, [&](const RowKernel::Block &block, const RowKernel::Right &right) {
    RowKernel::Sums sums = kernel.add(block, steps, rows_, right, kernel.zeros(block));
    kernel.finish(block, {termsOfSteps(), depth_}, rows_, right, sums, out);
  });
}

/// The same, a piece of the rows of rhs by all rows of lhs before the next piece.
void RowProduct::multiplyPieces(Value out, const Columns &columns) {
  RowKernel kernel(v_, products_, lanes_);
  Columns near = columns.whichAreNear();
  Value first = v_.index(0), all = endOfSteps(columns.coverage), piece = v_.index(termsOfPiece());
  forEachBlock(near, first, [&](const RowKernel::Block &block, const RowKernel::Right &) {
    storeSums(block, kernel.zeros(block));
  });
  v_.forRange(first, all, termsOfPiece(), [&](Value k) {
    Value behind = v_.add(k, piece);
    RowKernel::Steps steps{k, v_.create<arith::MinSIOp>(behind, all), termsOfStep()};
    if (panel_)
      packRight(columns, {k, steps.end, 0});
    forEachBlock(columns, k, [&](const RowKernel::Block &block, const RowKernel::Right &right) {
      storeSums(block, kernel.add(block, steps, rows_, right, loadSums(block)));
    });
  });
  Value rest = v_.index(termsOfSteps());
  if (panel_)
    packRight(columns, {rest, rest, depth_ - termsOfSteps()});
  forEachBlock(near, rest, [&](const RowKernel::Block &block, const RowKernel::Right &right) {
    kernel.finish(block, {termsOfSteps(), depth_}, rows_, right, loadSums(block), out);
  });
}

/// Visits the blocks of these columns, whose terms are multiplied from `first` on. Those that are to be
/// brought nearer are asked for by the first block, if not where a panel is packed.
void RowProduct::forEachBlock(const Columns &columns, Value first, const VisitBlock &visit) {
  auto visitWith = [&](RowKernel::Right right) {
    return [&, right](Value row, int64_t height) {
      visit({row, columns.first, height, columns.count}, right);
    };
  };
  bool isFirstApart = !panel_ && columns.ahead;
  if (isFirstApart)
    visitWith(rightOf(columns, first))(v_.index(0), block_.rows);
  DotProduct::forEachBlock(visitWith(rightOf(columns.whichAreNear(), first)), isFirstApart ? 1 : 0);
}

/// The same with rows of lhs in registers.
void RowProduct::multiplyByHeldRows(Value out) {
  RowKernel kernel(v_, products_, lanes_);
  DotProduct::forEachBlock([&](Value row, int64_t height) {
    RowKernel::Held held = kernel.hold(rows_, row, height, depth_);
    forEachRight([&](const Columns &columns) {
      RowKernel::Right right = rightOf(columns, {});
      kernel.emit({row, columns.first, height, columns.count}, held, right, out);
    });
  });
}

/// Blocks of rows of rhs that hold something.
void RowProduct::forEachRight(const VisitRight &visit) {
  int64_t columns = block_.vectors, full = n_ / columns * columns;
  Value knownRows = knownExtent(right_, 2, n_);
  Value end = v_.create<arith::MinSIOp>(knownRows, v_.index(full));
  RowWalk walk{reads_.of(right_, buffers_),
               tileOf(right_).getShape(),
               edgeOf(right_),
               end,
               columns,
               columns};
  forRows(v_, walk, [&](Value column, Value, Coverage coverage) {
    visit({column, columns, coverage, rowsAhead()});
  });
  for (int64_t column = full, count = columns; column < n_; column += count) {
    while (column + count > n_)
      count /= 2;
    visit({v_.index(column), count, Coverage::masked, rowsAhead()});
  }
}

void RowProduct::multiply(Value out) {
  if (isHeld_)
    return multiplyByHeldRows(out);
  forEachRight([&](const Columns &columns) {
    takesPieces() ? multiplyPieces(out, columns) : multiplyRows(out, columns);
  });
}

} // namespace ditron::cpu
