// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/target/nvidia/transforms/GlobalTile.h"
#include "ditron/lower/Conversions.h"
#include "ditron/lower/Views.h"
#include "ditron/support/Error.h"
#include "ditron/target/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {

static Value compare(ThreadBuilder &t, arith::CmpIPredicate predicate, Value x, Value y) {
  return t.b.create<arith::CmpIOp>(t.loc, predicate, x, y);
}

static Value asInteger(ThreadBuilder &t, Value value, unsigned bits) {
  Type type = t.b.getIntegerType(bits);
  if (value.getType().isIndex())
    return t.b.createOrFold<arith::IndexCastOp>(t.loc, type, value);
  return t.b.createOrFold<arith::ExtSIOp>(t.loc, type, value);
}

/// A number brought into [low, high]; all of type index.
static Value clamped(ThreadBuilder &t, Value value, Value low, Value high) {
  value = t.b.createOrFold<arith::MaxSIOp>(t.loc, value, low);
  return t.b.createOrFold<arith::MinSIOp>(t.loc, value, high);
}

GlobalTile::GlobalTile(ThreadBuilder &t, Value view, ValueRange coords, const Distribution &places)
    : element(cast<MemRefType>(view.getType()).getElementType()), bytes(storageBytes(element)),
      hasUnitStride(lower::hasUnitStride(view)), places_(places) {
  origin_ = locate(t, view, coords);
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

//===-- Into shared memory --------------------------------------------------------------------===//

/// Element by element, through registers: each thread takes every so many-th element of the tile.
void GlobalTile::copyElements(ThreadBuilder &t, const Layout &memory, const APInt &padding,
                              Value base) {
  if (padding.getBitWidth() > 32)
    throw InternalError("a tile of 64-bit elements in shared memory");
  OpBuilder &b = t.b;
  const Shape &shape = places_.shape();
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  Value thread = t.add(t.mul(t.context.warp, t.i32(kLanes)), t.context.lane);
  auto loop = b.create<scf::ForOp>(t.loc, thread, t.i32(elements), t.i32(t.context.warps * kLanes));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value rest = loop.getInductionVar(), place = t.i32(0), address = origin_, inside;
  Shape strides = stridesOf(memory, shape);
  for (size_t dim = shape.size(); dim-- > 0;) {
    Value coord = b.create<arith::RemUIOp>(t.loc, rest, t.i32(shape[dim]));
    rest = b.create<arith::DivUIOp>(t.loc, rest, t.i32(shape[dim]));
    place = t.add(place, t.mul(coord, t.i32(strides[dim])));
    address = t.add(address, t.mul(asInteger(t, coord, 64), strides_[dim]));
    Value fits = compare(t, arith::CmpIPredicate::ult, coord, left_[dim]);
    inside = inside ? Value(b.create<arith::AndIOp>(t.loc, inside, fits)) : fits;
  }
  Type carrier = b.getIntegerType(padding.getBitWidth());
  Value otherwise = b.create<arith::ConstantOp>(t.loc, b.getIntegerAttr(carrier, padding));
  Value value = t.instructions.loadGlobal(address, bytes, inside, otherwise)[0];
  Value at = t.mul(swizzled(t, memory, place), t.i32(bytes));
  b.create<LLVM::StoreOp>(t.loc, value, t.offset(base, at));
}

void copyToShared(ThreadBuilder &t, Value view, ValueRange coords, RankedTensorType tile,
                  const APInt &padding, Value base) {
  OpBuilder &b = t.b;
  Type element = tile.getElementType();
  int64_t bytes = storageBytes(element), run = 16 / bytes;
  Distribution places =
      *Distribution::of(blocked(shapeOf(tile), run, t.context.warps), shapeOf(tile));
  GlobalTile memory(t, view, coords, places);
  Layout layout = core::layoutOf(tile);
  if (!memory.hasUnitStride || places.run(run) < run || !padding.isZero())
    return memory.copyElements(t, layout, padding, base);
  SharedPlaces shared(t, base, layout, places, bytes);
  auto branch = b.create<scf::IfOp>(t.loc, memory.isWide(t, run, /*partly=*/true), true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  for (int64_t reg = 0; reg < places.registers(); reg += run) {
    Value count = t.mul(memory.countFrom(t, reg, run), t.i32(bytes));
    t.instructions.copyAsync(shared.at(reg), memory.at(t, reg).first, count);
  }
  b.setInsertionPointToStart(branch.elseBlock());
  memory.copyElements(t, layout, padding, base);
}

} // namespace ditron::nvidia
