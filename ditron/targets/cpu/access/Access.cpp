// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/access/Access.h"
#include "ditron/lower/Views.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ditron::cpu {

//===-- The tile of a view --------------------------------------------------------------------===//

/// The element where tile `coord` along a dimension of `size` elements starts; where no tile is,
/// any element from which on there is none of the tile.
static Value startOf(VectorBuilder &v, Value coord, int64_t extent, Value size) {
  if (!lower::isModerate(coord)) {
    // The product with the extent may not fit: any tile outside of the view is as good.
    coord = v.create<arith::MaxSIOp>(coord, v.index(-1));
    coord = v.create<arith::MinSIOp>(coord, size);
  }
  return v.mul(coord, v.index(extent));
}

/// The memory of a view as one dimension of storage elements.
static Value flatMemory(VectorBuilder &v, Value base, Type element) {
  auto type = cast<MemRefType>(base.getType());
  auto stored = MemRefType::get({}, storageType(element), AffineMap(), type.getMemorySpace());
  if (stored != type)
    base = v.create<UnrealizedConversionCastOp>(stored, base).getResult(0);
  auto flat =
      MemRefType::get({ShapedType::kDynamic}, stored.getElementType(),
                      StridedLayoutAttr::get(v.b.getContext(), 0, {1}), stored.getMemorySpace());
  return v.create<memref::ReinterpretCastOp>(
      flat, base, v.b.getIndexAttr(0),
      ArrayRef<OpFoldResult>{v.index(std::numeric_limits<int64_t>::max())},
      ArrayRef<OpFoldResult>{v.b.getIndexAttr(1)});
}

Access accessOf(VectorBuilder &v, Value view, ValueRange coords, ArrayRef<int64_t> shape,
                TypedAttr padding) {
  Access access;
  access.element = cast<MemRefType>(view.getType()).getElementType();
  access.shape.assign(shape.begin(), shape.end());
  access.unitStride = lower::hasUnitStride(view);
  auto metadata = v.create<memref::ExtractStridedMetadataOp>(view);
  access.offset = metadata.getOffset();
  access.sizes.assign(metadata.getSizes().begin(), metadata.getSizes().end());
  access.strides.assign(metadata.getStrides().begin(), metadata.getStrides().end());
  access.memory = flatMemory(v, metadata.getBaseBuffer(), access.element);
  size_t lead = coords.size() - shape.size();
  for (auto [d, coord] : llvm::enumerate(coords))
    access.start.push_back(d < lead ? coord : startOf(v, coord, shape[d - lead], access.sizes[d]));
  Type compute = computeType(access.element);
  access.padding = v.splat(compute, 1, 0);
  if (padding)
    access.padding = isa<FloatType>(compute)
                         ? v.splat(compute, 1, cast<FloatAttr>(padding).getValueAsDouble())
                         : v.integers(compute, 1, cast<IntegerAttr>(padding).getInt());
  return access;
}

//===-- Places --------------------------------------------------------------------------------===//

At elementAt(VectorBuilder &v, const Access &access, const At &at) {
  At element(access.start.begin(), access.start.end());
  size_t lead = element.size() - at.size();
  for (auto [d, offset] : llvm::enumerate(at))
    element[lead + d] = v.add(element[lead + d], offset);
  return element;
}

Value linear(VectorBuilder &v, const Access &access, const At &element) {
  Value result = access.offset;
  for (size_t d = 0; d < element.size(); ++d) {
    bool isUnit = access.unitStride && d + 1 == element.size();
    result = v.add(result, isUnit ? element[d] : v.mul(element[d], access.strides[d]));
  }
  return result;
}

Value addressOf(VectorBuilder &v, const Access &access, const At &element) {
  Value base = v.create<memref::ExtractAlignedPointerAsIndexOp>(access.memory);
  int64_t bytes = core::elementBytes(storageType(access.element));
  return v.add(base, v.mul(linear(v, access, element), v.index(bytes)));
}

static Value pointer(VectorBuilder &v, Value address) {
  Value word = v.create<arith::IndexCastOp>(v.b.getI64Type(), address);
  return v.create<LLVM::IntToPtrOp>(LLVM::LLVMPointerType::get(v.b.getContext()), word);
}

Value pointerTo(VectorBuilder &v, const Access &access, const At &element) {
  return pointer(v, addressOf(v, access, element));
}

void prefetch(VectorBuilder &v, const Access &access, const At &element) {
  v.create<LLVM::Prefetch>(pointerTo(v, access, element), /*rw=*/0, /*hint=*/3, /*cache=*/1);
}

Access tileAhead(VectorBuilder &v, const Access &access, size_t dimension, Value place) {
  if (access.next.empty())
    return access;
  size_t d = access.start.size() - access.shape.size() + dimension;
  Value rest = v.create<arith::SubIOp>(access.sizes[d], access.start[d]);
  Value isHere = v.create<arith::CmpIOp>(arith::CmpIPredicate::slt, place, rest);
  Access ahead = nextOf(access);
  ahead.start[d] = v.create<arith::SubIOp>(ahead.start[d], rest);
  auto choose = [&](Value here, Value &there) {
    if (here != there)
      there = v.create<arith::SelectOp>(isHere, here, there);
  };
  for (auto [here, there] : llvm::zip_equal(access.start, ahead.start))
    choose(here, there);
  choose(access.offset, ahead.offset);
  return ahead;
}

Access nextOf(const Access &access) {
  Access next = access;
  next.start = access.next;
  next.offset = access.nextOffset;
  return next;
}

//===-- Bounds --------------------------------------------------------------------------------===//

std::pair<Value, Value> boundsOf(VectorBuilder &v, const Access &access, const At &element,
                                 int64_t lanes) {
  Value inside = v.truth(true);
  for (size_t d = 0; d + 1 < element.size(); ++d) { // unsigned: a negative index is outside too
    Value fits = v.create<arith::CmpIOp>(arith::CmpIPredicate::ult, element[d], access.sizes[d]);
    inside = v.create<arith::AndIOp>(inside, fits);
  }
  Value starts =
      v.create<arith::CmpIOp>(arith::CmpIPredicate::ult, element.back(), access.sizes.back());
  inside = v.create<arith::AndIOp>(inside, starts);
  Value rest = v.create<arith::SubIOp>(access.sizes.back(), element.back());
  rest = v.create<arith::MinSIOp>(rest, v.index(lanes));
  return {inside, v.create<arith::SelectOp>(inside, rest, v.index(0))};
}

Value isInside(VectorBuilder &v, const Access &access, std::optional<int64_t> openEnd) {
  int64_t rank = access.sizes.size(), lead = rank - static_cast<int64_t>(access.shape.size());
  Value result;
  auto require = [&](arith::CmpIPredicate predicate, Value x, Value y) {
    result = v.both(result, v.create<arith::CmpIOp>(predicate, x, y));
  };
  for (int64_t d = 0; d < rank; ++d) {
    if (d < lead) { // any number, and unsigned: a negative one is outside too
      require(arith::CmpIPredicate::ult, access.start[d], access.sizes[d]);
      continue;
    }
    if (d != openEnd)
      require(arith::CmpIPredicate::sle, v.add(access.start[d], v.index(access.shape[d - lead])),
              access.sizes[d]);
    require(arith::CmpIPredicate::sge, access.start[d], v.index(0));
  }
  return result;
}

bool isSplit(VectorBuilder &v, ArrayRef<const Access *> tiles, ArrayRef<int64_t> shape) {
  auto isUnit = [](const Access *tile) { return tile->unitStride; };
  return !tiles.empty() && llvm::all_of(tiles, isUnit) && shape.back() >= v.wholeLanes();
}

void whereWhole(VectorBuilder &v, ArrayRef<const Access *> tiles, ArrayRef<int64_t> shape,
                const std::function<void(Coverage)> &walk) {
  if (!isSplit(v, tiles, shape))
    return walk(Coverage::masked);
  Value whole;
  for (const Access *tile : tiles) {
    Value inside = isInside(v, *tile);
    whole = v.both(whole, inside);
  }
  v.ifElse(whole, [&] { walk(Coverage::whole); }, [&] { walk(Coverage::masked); });
}

void forRows(VectorBuilder &v, const RowWalk &walk,
             const std::function<void(Value row, Value end, Coverage)> &visit) {
  Value zero = v.index(0), wholeEnd = zero;
  auto visitAll = [&](Value first, Value end, Coverage coverage) {
    v.forRange(first, end, walk.step, [&](Value row) { visit(row, end, coverage); });
  };
  if (isSplit(v, walk.tiles, walk.shape)) {
    Value whole;
    for (const Access *tile : walk.tiles) {
      auto rows = static_cast<int64_t>(tile->sizes.size()) - 2;
      Value inside = isInside(v, *tile, tile == walk.ending ? std::optional(rows) : std::nullopt);
      whole = v.both(whole, inside);
    }
    Value unit = v.index(walk.unit);
    Value units = v.mul(v.create<arith::DivUIOp>(walk.end, unit), unit);
    wholeEnd = v.create<arith::SelectOp>(whole, units, zero);
    visitAll(zero, wholeEnd, Coverage::whole);
  }
  visitAll(wholeEnd, walk.end, Coverage::masked);
}

/// The addresses, first and end, of memory that a view lies in.
static std::pair<Value, Value> endsOf(VectorBuilder &v, const Access &access) {
  Value low = addressOf(v, access, At(access.sizes.size(), v.index(0))), high = low;
  int64_t bytes = core::elementBytes(storageType(access.element));
  for (auto [size, stride] : llvm::zip_equal(access.sizes, access.strides)) {
    Value span = v.mul(v.mul(v.create<arith::SubIOp>(size, v.index(1)), v.index(bytes)), stride);
    low = v.add(low, v.create<arith::MinSIOp>(span, v.index(0)));
    high = v.add(high, v.create<arith::MaxSIOp>(span, v.index(0)));
  }
  return {low, v.add(high, v.index(bytes))};
}

Value areApart(VectorBuilder &v, const Access &a, const Access &b) {
  auto [aLow, aHigh] = endsOf(v, a);
  auto [bLow, bHigh] = endsOf(v, b);
  auto notAbove = [&](Value x, Value y) {
    return v.create<arith::CmpIOp>(arith::CmpIPredicate::ule, x, y);
  };
  return v.create<arith::OrIOp>(notAbove(aHigh, bLow), notAbove(bHigh, aLow));
}

//===-- Stores past the caches ----------------------------------------------------------------===//

/// Views from this size on leave a cache anyway: stores go past it, and the lines are not read
/// before they are overwritten.
static constexpr int64_t kStreamBytes = int64_t(1) << 25;

Value canStream(VectorBuilder &v, const Access &access, RankedTensorType tile) {
  int64_t bytes = core::elementBytes(storageType(access.element));
  int64_t vector = bytes * v.wholeLanes(), rank = access.sizes.size();
  if (tile.getShape().back() * bytes % vector || vector < 16)
    return {};
  auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
    return v.create<arith::CmpIOp>(predicate, x, y);
  };
  Value volume = v.index(bytes), lead = v.index(0);
  for (int64_t d = 0; d < rank; ++d) {
    volume = v.mul(volume, access.sizes[d]);
    if (d + 1 < rank)
      lead = v.create<arith::OrIOp>(lead, v.mul(access.strides[d], v.index(bytes)));
  }
  Value start = addressOf(v, access, elementAt(v, access, {}));
  Value misaligned =
      v.create<arith::AndIOp>(v.create<arith::OrIOp>(lead, start), v.index(vector - 1));
  return v.create<arith::AndIOp>(compare(arith::CmpIPredicate::eq, misaligned, v.index(0)),
                                 compare(arith::CmpIPredicate::uge, volume, v.index(kStreamBytes)));
}

void streamTo(VectorBuilder &v, Value address, Value vector, Type element) {
  Value stored = v.toStorage(vector, element);
  int64_t bytes = core::elementBytes(storageType(element));
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  v.create<LLVM::StoreOp>(stored, pointer(v, address), static_cast<unsigned>(lanes * bytes),
                          /*isVolatile=*/false, /*isNonTemporal=*/true);
}

void stream(VectorBuilder &v, Value vector, const Access &access, const At &element) {
  streamTo(v, addressOf(v, access, element), vector, access.element);
}

} // namespace ditron::cpu
