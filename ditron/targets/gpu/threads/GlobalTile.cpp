// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/threads/GlobalTile.h"
#include "ditron/lower/Conversions.h"
#include "ditron/lower/Views.h"
#include "ditron/support/Error.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {

static Value compare(ThreadBuilder &t, arith::CmpIPredicate predicate, Value x, Value y) {
  return t.b.create<arith::CmpIOp>(t.loc, predicate, x, y);
}

static Value asInteger(ThreadBuilder &t, Value value, unsigned bits) {
  Type type = t.b.getIntegerType(bits);
  if (value.getType().isIndex())
    return t.b.createOrFold<arith::IndexCastOp>(t.loc, type, value);
  return t.b.createOrFold<arith::ExtSIOp>(t.loc, type, value);
}

static int64_t product(const Shape &shape) {
  int64_t result = 1;
  for (int64_t extent : shape)
    result *= extent;
  return result;
}

/// A number brought into [low, high]; all of type index.
static Value clamped(ThreadBuilder &t, Value value, Value low, Value high) {
  value = t.b.createOrFold<arith::MaxSIOp>(t.loc, value, low);
  return t.b.createOrFold<arith::MinSIOp>(t.loc, value, high);
}

/// Whether the extents of a view are known to be below 2^31: it is an argument of known
/// alignment, or a view of a table, or a part of one.
static bool isNarrow(Value view) {
  while (isa_and_nonnull<memref::SubViewOp, memref::CastOp>(view.getDefiningOp()))
    view = view.getDefiningOp()->getOperand(0);
  bool isWhole = isa<BlockArgument>(view) || view.getDefiningOp<ViewAtOp>();
  return isWhole && knownAlignment(view) > 0;
}

GlobalTile::GlobalTile(ThreadBuilder &t, Value view, ValueRange coords, const Distribution &places)
    : element(cast<MemRefType>(view.getType()).getElementType()), bytes(storageBytes(element)),
      hasUnitStride(lower::hasUnitStride(view)), places_(places) {
  origin_ = isNarrow(view) ? locateNarrow(t, view, coords) : locate(t, view, coords);
  threadOffset_ = t.b.create<arith::ConstantIntOp>(t.loc, 0, 64);
  for (size_t dim = 0; dim < places.shape().size(); ++dim) {
    thread_.push_back(t.coordinate(places, dim));
    Value extended = asInteger(t, thread_.back(), 64);
    threadOffset_ = t.add(t.mul(extended, strides_[dim]), threadOffset_);
  }
}

/// The address of the tile's first element; extents and strides on the way. A coordinate whose
/// product with the extent might overflow is brought near first: any tile outside of the view is as
/// good.
Value GlobalTile::locate(ThreadBuilder &t, Value view, ValueRange coords) {
  OpBuilder &b = t.b;
  const Shape &shape = places_.shape();
  auto metadata = b.create<memref::ExtractStridedMetadataOp>(t.loc, view);
  Value base = b.create<memref::ExtractAlignedPointerAsIndexOp>(t.loc, view);
  Value offset = metadata.getOffset(), zero = t.index(0);
  size_t lead = coords.size() - shape.size();
  Value isInside = b.create<arith::ConstantIntOp>(t.loc, 1, 1);
  for (size_t dim = 0; dim < coords.size(); ++dim) {
    Value size = width_ = metadata.getSizes()[dim],
          start = clamped(t, coords[dim], t.index(-1), size);
    if (dim < lead) {
      isInside = b.create<arith::AndIOp>(t.loc, isInside,
                                         compare(t, arith::CmpIPredicate::ult, start, size));
    } else {
      int64_t extent = shape[dim - lead];
      start = t.mul(start, t.index(extent));
      Value rest = clamped(t, b.create<arith::SubIOp>(t.loc, size, start), zero, t.index(extent));
      Value begins = compare(t, arith::CmpIPredicate::sge, start, zero);
      begins = b.create<arith::AndIOp>(t.loc, begins, isInside);
      rest = b.create<arith::SelectOp>(t.loc, begins, rest, zero);
      left_.push_back(asInteger(t, rest, 32));
      Value stride = t.mul(metadata.getStrides()[dim], t.index(bytes));
      if (dim + 1 == coords.size() && hasUnitStride)
        stride = t.index(bytes);
      strides_.push_back(asInteger(t, stride, 64));
    }
    offset = t.add(offset, t.mul(start, metadata.getStrides()[dim]));
  }
  if (coords.size() >= 2)
    viewRows_ = asInteger(
        t, clamped(t, metadata.getSizes()[coords.size() - 2], zero, t.index(INT32_MAX)), 32);
  Value address = t.add(base, t.mul(offset, t.index(bytes)));
  return asInteger(t, address, 64);
}

/// The same in 32 bits, of extents below 2^31. Tiles outside of the view are as good as the first
/// one behind it, as whose coordinate any counts that is not below.
Value GlobalTile::locateNarrow(ThreadBuilder &t, Value view, ValueRange coords) {
  OpBuilder &b = t.b;
  const Shape &shape = places_.shape();
  auto metadata = b.create<memref::ExtractStridedMetadataOp>(t.loc, view);
  Value base = b.create<memref::ExtractAlignedPointerAsIndexOp>(t.loc, view);
  Value offset = metadata.getOffset(), isInside = b.create<arith::ConstantIntOp>(t.loc, 1, 1);
  size_t lead = coords.size() - shape.size();
  for (size_t dim = 0; dim < coords.size(); ++dim) {
    int64_t extent = dim < lead ? 1 : shape[dim - lead];
    Value size = asInteger(t, width_ = metadata.getSizes()[dim], 32);
    Value place = b.createOrFold<arith::MinUIOp>(t.loc, coords[dim], t.index(UINT32_MAX));
    place = asInteger(t, place, 32);
    Value tiles = size;
    if (extent > 1)
      tiles = b.create<arith::DivUIOp>(t.loc, t.add(size, t.i32(extent - 1)), t.i32(extent));
    place = b.createOrFold<arith::MinUIOp>(t.loc, place, tiles);
    Value start = t.mul(place, t.i32(extent)); // below 2^31 + extent
    Value stride = metadata.getStrides()[dim];
    if (dim < lead) {
      isInside = b.create<arith::AndIOp>(t.loc, isInside,
                                         compare(t, arith::CmpIPredicate::ult, place, size));
    } else {
      Value rest = b.create<arith::SubIOp>(t.loc, size, start);
      rest = b.createOrFold<arith::MaxSIOp>(t.loc, rest, t.i32(0));
      rest = b.createOrFold<arith::MinSIOp>(t.loc, rest, t.i32(extent));
      left_.push_back(b.createOrFold<arith::SelectOp>(t.loc, isInside, rest, t.i32(0)));
      bool isUnit = dim + 1 == coords.size() && hasUnitStride;
      Value step = isUnit ? t.index(bytes) : t.mul(stride, t.index(bytes));
      strides_.push_back(asInteger(t, step, 64));
    }
    Value wide = b.create<arith::IndexCastUIOp>(t.loc, b.getIndexType(), start);
    offset = t.add(offset, t.mul(wide, stride));
  }
  if (coords.size() >= 2)
    viewRows_ = asInteger(t, metadata.getSizes()[coords.size() - 2], 32);
  return asInteger(t, t.add(base, t.mul(offset, t.index(bytes))), 64);
}

Value GlobalTile::coordinate(ThreadBuilder &t, size_t dim, int64_t reg) {
  return t.add(thread_[dim], t.i32(places_.element(reg)[dim]));
}

Value GlobalTile::insideOf(ThreadBuilder &t, int64_t reg, bool withLast) {
  Value inside;
  size_t dims = places_.shape().size();
  for (size_t dim = 0; dim < (withLast ? dims : dims - 1); ++dim) {
    bool isGiven = dim == 0 && !rows.empty();
    Value place = isGiven ? rows[static_cast<size_t>(reg)] : coordinate(t, dim, reg);
    Value fits = compare(t, arith::CmpIPredicate::ult, place, isGiven ? viewRows_ : left_[dim]);
    inside = inside ? Value(t.b.create<arith::AndIOp>(t.loc, inside, fits)) : fits;
  }
  return inside ? inside : t.b.create<arith::ConstantIntOp>(t.loc, 1, 1);
}

std::pair<Value, Value> GlobalTile::at(ThreadBuilder &t, int64_t reg) {
  OpBuilder &b = t.b;
  const Shape &added = places_.element(reg);
  Value address = t.add(origin_, threadOffset_);
  auto constant = [&](int64_t value) -> Value {
    return b.create<arith::ConstantIntOp>(t.loc, value, 64);
  };
  for (size_t dim = 0; dim < added.size(); ++dim) {
    if (dim == 0 && !rows.empty()) { // the given row instead of the tile's
      Value given = asInteger(t, rows[static_cast<size_t>(reg)], 64);
      Value own = asInteger(t, thread_[0], 64);
      Value by = b.create<arith::SubIOp>(t.loc, given, own);
      address = t.add(address, t.mul(by, strides_[0]));
    } else if (added[dim]) {
      address = t.add(address, t.mul(strides_[dim], constant(added[dim])));
    }
  }
  return {address, insideOf(t, reg, true)};
}

Value GlobalTile::countFrom(ThreadBuilder &t, int64_t reg, int64_t run) {
  size_t last = places_.shape().size() - 1;
  Value rest = t.b.create<arith::SubIOp>(t.loc, left_[last], coordinate(t, last, reg));
  rest = t.b.create<arith::MaxSIOp>(t.loc, rest, t.i32(0));
  rest = t.b.create<arith::MinSIOp>(t.loc, rest, t.i32(run));
  return t.b.create<arith::SelectOp>(t.loc, insideOf(t, reg, false), rest, t.i32(0));
}

std::pair<Value, Value> GlobalTile::from(ThreadBuilder &t, Value row, Value column, int64_t run) {
  Value address = t.add(origin_, t.mul(asInteger(t, row, 64), strides_[0]));
  address = t.add(address, t.mul(asInteger(t, column, 64), strides_[1]));
  Value rest = t.b.create<arith::SubIOp>(t.loc, left_[1], column);
  rest = t.b.create<arith::MaxSIOp>(t.loc, rest, t.i32(0));
  rest = t.b.create<arith::MinSIOp>(t.loc, rest, t.i32(run));
  Value isInside = compare(t, arith::CmpIPredicate::ult, row, left_[0]);
  return {address, t.b.create<arith::SelectOp>(t.loc, isInside, rest, t.i32(0))};
}

Value GlobalTile::isDenseFrom(ThreadBuilder &t, size_t dim) const {
  const Shape &shape = places_.shape();
  Value dense = t.b.create<arith::ConstantIntOp>(t.loc, hasUnitStride, 1);
  int64_t inner = bytes;
  for (size_t d = shape.size() - 1; d > dim; --d) {
    inner *= shape[d];
    Value all = compare(t, arith::CmpIPredicate::eq, left_[d], t.i32(shape[d]));
    Value apart = t.b.create<arith::ConstantIntOp>(t.loc, inner, 64);
    Value isNext = compare(t, arith::CmpIPredicate::eq, strides_[d - 1], apart);
    dense = t.b.create<arith::AndIOp>(t.loc, dense, t.b.create<arith::AndIOp>(t.loc, all, isNext));
  }
  return dense;
}

std::pair<Value, Value> GlobalTile::slice(ThreadBuilder &t, Value first) const {
  Value count = left_[1];
  for (Value left : ArrayRef(left_).drop_front(2))
    count = t.mul(count, left);
  Value isInside = compare(t, arith::CmpIPredicate::ult, first, left_[0]);
  return {t.add(origin_, t.mul(asInteger(t, first, 64), strides_[0])),
          t.b.create<arith::SelectOp>(t.loc, isInside, count, t.i32(0))};
}

Value GlobalTile::elementsLeft(ThreadBuilder &t) const {
  Value count = left_.front();
  for (Value left : ArrayRef(left_).drop_front())
    count = t.mul(count, left);
  return count;
}

Value GlobalTile::isWhole(ThreadBuilder &t) const {
  Value whole = t.b.create<arith::ConstantIntOp>(t.loc, 1, 1);
  for (auto [left, extent] : llvm::zip(left_, places_.shape()))
    whole = t.b.create<arith::AndIOp>(t.loc, whole,
                                      compare(t, arith::CmpIPredicate::eq, left, t.i32(extent)));
  return whole;
}

Value GlobalTile::isWide(ThreadBuilder &t, int64_t run, bool partly) {
  OpBuilder &b = t.b;
  Value bits = origin_;
  for (Value stride : ArrayRef(strides_).drop_back())
    bits = b.create<arith::OrIOp>(t.loc, bits, stride);
  auto constant = [&](int64_t value) { return b.create<arith::ConstantIntOp>(t.loc, value, 64); };
  bits = b.create<arith::AndIOp>(t.loc, bits, constant(run * bytes - 1));
  Value result = compare(t, arith::CmpIPredicate::eq, bits, constant(0));
  if (partly)
    return result;
  // Of a row of whole runs whole runs are left: said first, as it often is known.
  Value end = b.create<arith::AndIOp>(t.loc, width_, t.index(run - 1));
  Value isWhole = compare(t, arith::CmpIPredicate::eq, end, t.index(0));
  Value rest = b.create<arith::AndIOp>(t.loc, left_.back(), t.i32(run - 1));
  isWhole =
      b.create<arith::OrIOp>(t.loc, isWhole, compare(t, arith::CmpIPredicate::eq, rest, t.i32(0)));
  return b.create<arith::AndIOp>(t.loc, result, isWhole);
}

GlobalTile::Piece GlobalTile::piece(ThreadBuilder &t, Value number, int64_t more, int64_t run,
                                    const Layout &memory) {
  const Shape &shape = places_.shape();
  Shape strides = stridesOf(memory, shape);
  Value exists = compare(t, arith::CmpIPredicate::ult, t.add(number, t.i32(more)),
                         t.i32(product(shape) / run));
  Value rest = number, place = t.i32(0), address = origin_, inside, count;
  for (size_t dim = shape.size(); dim-- > 0;) {
    bool isLast = dim + 1 == shape.size();
    int64_t extent = isLast ? shape[dim] / run : shape[dim];
    Value coord = rest;
    if (dim > 0 && more % extent == 0) { // the same column, some rows below
      coord = t.b.create<arith::RemUIOp>(t.loc, rest, t.i32(extent));
      rest = t.b.create<arith::DivUIOp>(t.loc, rest, t.i32(extent));
      more /= extent;
    } else {
      rest = coord = t.add(rest, t.i32(std::exchange(more, 0)));
      if (dim > 0) {
        coord = t.b.create<arith::RemUIOp>(t.loc, rest, t.i32(extent));
        rest = t.b.create<arith::DivUIOp>(t.loc, rest, t.i32(extent));
      }
    }
    if (isLast) {
      coord = t.mul(coord, t.i32(run));
      count = t.b.create<arith::SubIOp>(t.loc, left_[dim], coord);
      count = t.b.create<arith::MaxSIOp>(t.loc, count, t.i32(0));
      count = t.b.create<arith::MinSIOp>(t.loc, count, t.i32(run));
    } else {
      Value fits = compare(t, arith::CmpIPredicate::ult, coord, left_[dim]);
      inside = inside ? Value(t.b.create<arith::AndIOp>(t.loc, inside, fits)) : fits;
    }
    place = t.add(place, t.mul(coord, t.i32(strides[dim])));
    address = t.add(address, t.mul(asInteger(t, coord, 64), strides_[dim]));
  }
  if (inside)
    count = t.b.create<arith::SelectOp>(t.loc, inside, count, t.i32(0));
  return {exists, address, swizzled(t, memory, place), count};
}

//===-- Into shared memory --------------------------------------------------------------------===//

namespace {

/// Copies of a tile into shared memory at `base`, laid out as `memory`.
class SharedCopy {
public:
  SharedCopy(ThreadBuilder &t, GlobalTile &tile, const Distribution &places, const Layout &memory,
             Value base)
      : t_(t), b_(t.b), tile_(tile), places_(places), memory_(memory), base_(base) {}

  /// Runs of 16 bytes, asynchronously: where isWide holds.
  void copyWide(int64_t run) {
    SharedPlaces shared(t_, base_, memory_, places_, tile_.bytes);
    for (int64_t reg = 0; reg < places_.registers(); reg += run) {
      Value count = t_.mul(tile_.countFrom(t_, reg, run), t_.i32(tile_.bytes));
      t_.instructions->copyAsync(shared.at(reg), tile_.at(t_, reg).first, kWide, count);
    }
  }

  /// Words, asynchronously: where isWide holds for runs of `run` elements.
  void copyWords(int64_t run) {
    constexpr int64_t kAtOnce = 2;
    loopOverPieces(run, kAtOnce, [&](ArrayRef<GlobalTile::Piece> pieces) {
      for (const GlobalTile::Piece &piece : pieces)
        where(piece, [&] {
          t_.instructions->copyAsync(placeOf(piece), piece.address, kWord,
                                     t_.mul(piece.count, t_.i32(tile_.bytes)));
        });
    });
  }

  /// Element by element, through registers, for any strides and padding: first all are read that
  /// a thread has registers for, as each takes its time.
  void copyElements(const APInt &padding) {
    constexpr int64_t kAtOnce = 8;
    Type carrier = b_.getIntegerType(padding.getBitWidth());
    Value otherwise = b_.create<arith::ConstantOp>(t_.loc, b_.getIntegerAttr(carrier, padding));
    loopOverPieces(1, kAtOnce, [&](ArrayRef<GlobalTile::Piece> pieces) {
      SmallVector<Value> values;
      for (const GlobalTile::Piece &piece : pieces) {
        Value inside = compare(t_, arith::CmpIPredicate::ne, piece.count, t_.i32(0));
        inside = b_.create<arith::AndIOp>(t_.loc, inside, piece.exists);
        values.append(t_.instructions->loadGlobal(piece.address, tile_.bytes, inside, otherwise));
      }
      for (auto [piece, value] : llvm::zip(pieces, values))
        where(piece, [&, value = value, &piece = piece] {
          b_.create<LLVM::StoreOp>(t_.loc, value, placeOf(piece));
        });
    });
  }

  static constexpr int64_t kWide = 16, kWord = 4; ///< bytes

private:
  using Pieces = llvm::function_ref<void(ArrayRef<GlobalTile::Piece>)>;

  /// Each thread takes pieces of the tile, as far apart as there are threads, some at a time.
  void loopOverPieces(int64_t run, int64_t atOnce, Pieces body) {
    int64_t pieces = product(places_.shape()) / run, threads = t_.context.threads().count();
    atOnce = std::min(atOnce, (pieces + threads - 1) / threads);
    Value thread = t_.thread();
    auto loop = b_.create<scf::ForOp>(t_.loc, thread, t_.i32(pieces), t_.i32(atOnce * threads));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    SmallVector<GlobalTile::Piece> taken;
    for (int64_t n = 0; n < atOnce; ++n) {
      taken.push_back(tile_.piece(t_, loop.getInductionVar(), n * threads, run, memory_));
      if (pieces % (atOnce * threads) == 0 || n == 0)
        taken.back().exists = b_.create<arith::ConstantIntOp>(t_.loc, 1, 1);
    }
    body(taken);
  }

  void where(const GlobalTile::Piece &piece, llvm::function_ref<void()> body) {
    if (matchPattern(piece.exists, m_One()))
      return body();
    auto branch = b_.create<scf::IfOp>(t_.loc, piece.exists, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(branch.thenBlock());
    body();
  }

  Value placeOf(const GlobalTile::Piece &piece) {
    return t_.offset(base_, t_.mul(piece.place, t_.i32(tile_.bytes)));
  }

  ThreadBuilder &t_;
  OpBuilder &b_;
  GlobalTile &tile_;
  const Distribution &places_;
  const Layout &memory_;
  Value base_;
};

} // namespace

void copyToShared(ThreadBuilder &t, Value view, ValueRange coords, RankedTensorType tile,
                  const APInt &padding, Value base) {
  int64_t bytes = storageBytes(tile.getElementType());
  if (bytes > SharedCopy::kWord)
    throw InternalError("a tile of 64-bit elements in shared memory");
  int64_t run = SharedCopy::kWide / bytes, word = SharedCopy::kWord / bytes;
  Distribution places =
      *Distribution::of(blocked(shapeOf(tile), run, t.context.threads()), shapeOf(tile));
  GlobalTile memory(t, view, coords, places);
  Layout layout = core::layoutOf(tile);
  SharedCopy copy(t, memory, places, layout, base);
  bool hasRuns = memory.hasUnitStride && places.run(run) == run && padding.isZero();
  if (!hasRuns)
    return copy.copyElements(padding);
  OpBuilder::InsertionGuard guard(t.b);
  auto isWide = [&](int64_t count) { return memory.isWide(t, count, /*partly=*/true); };
  auto wide = t.b.create<scf::IfOp>(t.loc, isWide(run), true);
  t.b.setInsertionPointToStart(wide.thenBlock());
  copy.copyWide(run);
  t.b.setInsertionPointToStart(wide.elseBlock());
  if (word == 1) // every element is one
    return copy.copyWords(word);
  auto narrow = t.b.create<scf::IfOp>(t.loc, isWide(word), true);
  t.b.setInsertionPointToStart(narrow.thenBlock());
  copy.copyWords(word);
  t.b.setInsertionPointToStart(narrow.elseBlock());
  copy.copyElements(padding);
}

} // namespace ditron::gpu
