// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lang/Trace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <numeric>

using namespace mlir;

namespace ditron::detail {

static MemRefType typeOf(const ViewData &view) {
  return cast<MemRefType>(unwrap(view.view).getType());
}

static ViewData withView(ViewData view, Value value) {
  view.view = wrap(value);
  return view;
}

Handle handleOf(Index value, Location where) {
  return wrap(Trace::current(where).value(value, where));
}

Index dimOf(const ViewData &view, int dim, Location where) {
  int64_t rank = typeOf(view).getRank();
  if (dim < 0 || dim >= rank)
    throw CompileError(fmt::format("dimension {} of a view of {} dimensions", dim, rank), where);
  Trace &trace = Trace::current(where);
  return trace.index(
      trace.create<memref::DimOp>(where, unwrap(view.view), static_cast<int64_t>(dim)));
}

int64_t TileExtent::checked(int64_t extent, Location where) {
  if (extent < 1)
    throw CompileError(fmt::format("tiled: a tile has extent {}, expected 1 or more", extent),
                       where);
  return extent;
}

/// The whole extent of each dimension, to change some of them.
struct Box {
  Box(Trace &trace, const ViewData &view, Location where) {
    OpBuilder &builder = trace.builder();
    for (int d = 0, rank = typeOf(view).getRank(); d < rank; ++d) {
      offsets.push_back(builder.getIndexAttr(0));
      sizes.push_back(trace.value(dimOf(view, d, where), where));
      strides.push_back(builder.getIndexAttr(1));
    }
  }
  SmallVector<OpFoldResult> offsets, sizes, strides;
};

/// The view with dimension `dim` in front.
static ViewData broughtForward(const ViewData &view, int dim, Location where) {
  Trace &trace = Trace::current(where);
  SmallVector<unsigned> permutation =
      llvm::to_vector(llvm::seq<unsigned>(0, typeOf(view).getRank()));
  std::rotate(permutation.begin(), permutation.begin() + dim, permutation.begin() + dim + 1);
  auto map = AffineMap::getPermutationMap(permutation, trace.context());
  return withView(
      view, trace.create<memref::TransposeOp>(where, unwrap(view.view), AffineMapAttr::get(map)));
}

ViewData dropDim(const ViewData &whole, int dim, Index at, Location where) {
  int64_t rank = typeOf(whole).getRank();
  if (dim < 0 || dim >= rank)
    throw CompileError(fmt::format("at: dimension {} of a view of {} dimensions", dim, rank),
                       where);
  ViewData view = dim == 0 ? whole : broughtForward(whole, dim, where);
  Trace &trace = Trace::current(where);
  Box box(trace, view, where);
  box.offsets[0] = trace.value(at, where);
  box.sizes[0] = trace.builder().getIndexAttr(1);
  MemRefType source = typeOf(view);
  auto result =
      device::viewType(source.getRank() - 1, source.getElementType(), device::spaceOf(source));
  return withView(view, trace.create<memref::SubViewOp>(where, result, unwrap(view.view),
                                                        box.offsets, box.sizes, box.strides));
}

ViewData sliceOf(const ViewData &view, int dim, Index first, Index count, Location where) {
  Trace &trace = Trace::current(where);
  Box box(trace, view, where);
  if (dim < 0 || dim >= static_cast<int>(box.sizes.size()))
    throw CompileError(
        fmt::format("slice of dimension {} of a view of {} dimensions", dim, box.sizes.size()),
        where);
  box.offsets[dim] = trace.value(first, where);
  box.sizes[dim] = trace.value(count, where);
  return withView(view, trace.create<memref::SubViewOp>(where, typeOf(view), unwrap(view.view),
                                                        box.offsets, box.sizes, box.strides));
}

ViewData splitDim(const ViewData &view, int dim, Index parts, Location where) {
  Trace &trace = Trace::current(where);
  MemRefType source = typeOf(view);
  if (dim < 0 || dim >= source.getRank())
    throw CompileError(
        fmt::format("split of dimension {} of a view of {} dimensions", dim, source.getRank()),
        where);
  SmallVector<OpFoldResult> shape;
  SmallVector<ReassociationIndices> groups;
  for (int d = 0; d < source.getRank(); ++d) {
    auto next = static_cast<int64_t>(shape.size());
    groups.push_back(d == dim ? ReassociationIndices{next, next + 1} : ReassociationIndices{next});
    Index extent = dimOf(view, d, where);
    if (d == dim) {
      shape.push_back(trace.value(parts, where));
      extent = extent / IndexOperand(parts, where);
    }
    shape.push_back(trace.value(extent, where));
  }
  auto result =
      device::viewType(source.getRank() + 1, source.getElementType(), device::spaceOf(source));
  return withView(
      view, trace.create<memref::ExpandShapeOp>(where, result, unwrap(view.view), groups, shape));
}

ViewData transposeOf(const ViewData &view, Location where) {
  Trace &trace = Trace::current(where);
  int64_t rank = typeOf(view).getRank();
  SmallVector<unsigned> permutation = llvm::to_vector(llvm::seq<unsigned>(0, rank));
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  auto map = AffineMap::getPermutationMap(permutation, trace.context());
  return withView(
      view, trace.create<memref::TransposeOp>(where, unwrap(view.view), AffineMapAttr::get(map)));
}

ViewData onPeer(const ViewData &view, Index peer, Location where) {
  ViewData theirs = view;
  theirs.peer = handleOf(peer, where);
  return theirs;
}

/// The view as one of plain memory.
static Value inPlainMemory(Trace &trace, const ViewData &view, Location where) {
  MemRefType type = typeOf(view);
  if (!type.getMemorySpace())
    return unwrap(view.view);
  auto plain = device::viewType(type.getRank(), type.getElementType(), std::nullopt);
  return trace.create<memref::MemorySpaceCastOp>(where, plain, unwrap(view.view));
}

ViewData chooseView(Bool condition, const ViewData &yes, const ViewData &no, Location where) {
  Trace &trace = Trace::current(where);
  return withView(yes, trace.create<arith::SelectOp>(where, unwrap(condition.handle()),
                                                     inPlainMemory(trace, yes, where),
                                                     inPlainMemory(trace, no, where)));
}

Tile readElement(const ViewData &view, const Index *at, int count, Location where) {
  Trace &trace = Trace::current(where);
  SmallVector<Value> indices;
  for (int d = 0; d < count; ++d)
    indices.push_back(trace.value(at[d], where));
  return Tile(wrap(trace.create<memref::LoadOp>(where, unwrap(view.view), indices)));
}

/// Whether `shape` is `whole` without some of its leading extents.
static bool isTail(const std::vector<int64_t> &shape, const std::vector<int64_t> &whole) {
  return shape.size() <= whole.size() && std::equal(shape.rbegin(), shape.rend(), whole.rbegin());
}

Value fit(Operand value, ArrayRef<int64_t> shape, Type element, const char *op, const char *place) {
  Location where = value.where();
  std::vector<int64_t> extents(shape.begin(), shape.end());
  if (value.isNumber())
    return unwrap(splat(dtypeOf(element), extents, value.number(), where).handle());
  Tile tile = value.read();
  if (elementType(element.getContext(), tile.dtype()) != element)
    throw CompileError(fmt::format("{}: the tile is of {} but the {} is of {}: cast it", op,
                                   name(tile.dtype()), place, name(dtypeOf(element))),
                       where);
  auto count = [](const std::vector<int64_t> &of) {
    return std::accumulate(of.begin(), of.end(), int64_t(1), std::multiplies<>());
  };
  if (!tile.shape().empty() && count(tile.shape()) != count(extents))
    throw CompileError(
        fmt::format("{}: the tile is [{}] but the {} is [{}]: broadcast() repeats elements", op,
                    fmt::join(tile.shape(), ", "), place, fmt::join(extents, ", ")),
        where);
  if (!isTail(tile.shape(), extents))
    throw CompileError(
        fmt::format("{}: the tile is [{}] but the {} is [{}]: reshape() or transpose() it", op,
                    fmt::join(tile.shape(), ", "), place, fmt::join(extents, ", ")),
        where);
  return unwrap(broadcast({tile, where}, extents).handle());
}

static SmallVector<Value> coordsOf(const TileRefData &ref) {
  SmallVector<Value> coords;
  for (int d = 0; d < ref.numCoords; ++d)
    coords.push_back(unwrap(ref.coords[d]));
  return coords;
}

void storeTile(const TileRefData &ref, Operand value) {
  Value view = unwrap(ref.view);
  Type element = cast<MemRefType>(view.getType()).getElementType();
  Value tile = fit(value, ArrayRef(ref.shape).take_front(ref.rank), element, "store");
  Trace::current(ref.where).create<core::StoreOp>(ref.where, tile, view, coordsOf(ref));
}

Tile atomicAddTile(const TileRefData &ref, Operand value) {
  Value view = unwrap(ref.view);
  Type element = cast<MemRefType>(view.getType()).getElementType();
  Value tile = fit(value, ArrayRef(ref.shape).take_front(ref.rank), element, "atomicAdd");
  return Tile(wrap(Trace::current(ref.where).create<core::AtomicAddOp>(ref.where, tile.getType(),
                                                                       tile, view, coordsOf(ref))));
}

/// The row indices of a gather or scatter: i32 in one dimension.
static Value rowsOf(Operand rows, const char *op) {
  Value value = unwrap(rows.read().handle());
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() != 1 || !type.getElementType().isInteger(32))
    throw CompileError(fmt::format("{}: rows are to be i32 in one dimension", op), rows.where());
  return value;
}

Tile gatherRows(const ViewData &view, Operand rows, Index column, int width, Number padding,
                Location where) {
  Trace &trace = Trace::current(where);
  Value indices = rowsOf(rows, "gather");
  if (width < 1)
    throw CompileError(fmt::format("gather: the width is {}, expected 1 or more", width), where);
  Type element = typeOf(view).getElementType();
  int64_t count = cast<RankedTensorType>(indices.getType()).getDimSize(0);
  auto type = RankedTensorType::get({count, width}, element);
  TypedAttr pad = paddingOf(element, padding, where);
  return Tile(wrap(trace.create<core::GatherOp>(where, type, unwrap(view.view), indices,
                                                trace.value(column, where), pad)));
}

void scatterRows(const ViewData &view, Operand rows, Index column, Operand value) {
  Location where = value.where();
  Trace &trace = Trace::current(where);
  Value indices = rowsOf(rows, "scatter");
  int64_t count = cast<RankedTensorType>(indices.getType()).getDimSize(0);
  Tile tile = value.read();
  if (tile.shape().size() != 2 || tile.shape()[0] != count)
    throw CompileError(fmt::format("scatter: needs a tile of 2 dimensions with {} rows", count),
                       where);
  Value fitted = fit({tile, where}, tile.shape(), typeOf(view).getElementType(), "scatter");
  trace.create<core::ScatterOp>(where, fitted, unwrap(view.view), indices,
                                trace.value(column, where));
}

} // namespace ditron::detail
