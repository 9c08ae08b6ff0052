// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/core/TileOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ditron::core;

#include "ditron/core/TileOpsDialect.cpp.inc"
#include "ditron/core/TileOpsEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ditron/core/TileOpsTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ditron/core/TileOps.cpp.inc"

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ditron/core/TileOpsTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ditron/core/TileOps.cpp.inc"
      >();
}

int64_t ditron::core::elementBytes(Type element) {
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

//===-- Checks shared by several ops ----------------------------------------------------------===//

static RankedTensorType typeOf(Value tile) { return cast<RankedTensorType>(tile.getType()); }

/// 1 to 4 dimensions, every extent at least 1.
static LogicalResult checkTile(Operation *op, StringRef what, RankedTensorType type) {
  if (type.getRank() < 1 || type.getRank() > 4)
    return op->emitOpError() << what << " has " << type.getRank()
                             << " dimensions, a tile has 1 to 4";
  if (llvm::any_of(type.getShape(), [](int64_t extent) { return extent < 1; }))
    return op->emitOpError() << what << " has an extent below 1: " << type;
  return success();
}

/// A tile of `shape` at `coords` of `view`.
static LogicalResult checkTileOfView(Operation *op, MemRefType view, size_t coords, size_t tileRank,
                                     Type element) {
  if (static_cast<int64_t>(coords) != view.getRank())
    return op->emitOpError() << "names " << coords << " coordinates in a view of " << view.getRank()
                             << " dimensions";
  if (static_cast<int64_t>(tileRank) > view.getRank())
    return op->emitOpError() << "takes a tile of " << tileRank << " dimensions from a view of "
                             << view.getRank();
  if (element != view.getElementType())
    return op->emitOpError() << "has elements of " << element << " but the view has "
                             << view.getElementType();
  return success();
}

static LogicalResult checkPadding(Operation *op, std::optional<TypedAttr> padding, Type element) {
  if (padding && padding->getType() != element)
    return op->emitOpError() << "padding is of " << padding->getType() << " but elements are of "
                             << element;
  return success();
}

static LogicalResult checkAxis(Operation *op, int64_t axis, RankedTensorType type) {
  if (axis < 0 || axis >= type.getRank())
    return op->emitOpError() << "axis is " << axis << " but the tile has " << type.getRank()
                             << " dimensions";
  return success();
}

/// `result` is `source` with the axis shrunk to 1.
static LogicalResult checkReduced(Operation *op, int64_t axis, RankedTensorType source,
                                  RankedTensorType result) {
  if (failed(checkAxis(op, axis, source)))
    return failure();
  SmallVector<int64_t> expected(source.getShape());
  expected[axis] = 1;
  if (result.getShape() != ArrayRef(expected))
    return op->emitOpError() << "result is " << result << " but " << source << " without axis "
                             << axis << " has shape [" << expected << "]";
  return success();
}

//===-- Memory --------------------------------------------------------------------------------===//

LogicalResult LoadOp::verify() {
  auto type = typeOf(getTile());
  if (failed(checkTile(*this, "result", type)) ||
      failed(checkTileOfView(*this, cast<MemRefType>(getView().getType()), getCoords().size(),
                             type.getRank(), type.getElementType())))
    return failure();
  return checkPadding(*this, getPadding(), type.getElementType());
}

LogicalResult StoreOp::verify() {
  auto type = typeOf(getTile());
  if (failed(checkTile(*this, "operand", type)))
    return failure();
  return checkTileOfView(*this, cast<MemRefType>(getView().getType()), getCoords().size(),
                         type.getRank(), type.getElementType());
}

LogicalResult ChunkOp::verify() {
  auto view = cast<MemRefType>(getView().getType());
  auto chunk = cast<MemRefType>(getChunk().getType());
  if (failed(checkTileOfView(*this, view, getCoords().size(), getShape().size(),
                             chunk.getElementType())))
    return failure();
  if (getShape().empty() || llvm::any_of(getShape(), [](int64_t extent) { return extent < 1; }))
    return emitOpError() << "shape [" << getShape() << "] has an extent below 1";
  if (chunk.getRank() != static_cast<int64_t>(getShape().size()))
    return emitOpError() << "result has " << chunk.getRank() << " dimensions but the shape has "
                         << getShape().size();
  if (chunk.getMemorySpace() != view.getMemorySpace())
    return emitOpError("result must live in the memory space of the view");
  return success();
}

/// The rows, the tile and the view of a gather or scatter fit.
static LogicalResult checkRows(Operation *op, RankedTensorType tile, RankedTensorType rows,
                               MemRefType view) {
  if (tile.getRank() != 2 || view.getRank() != 2)
    return op->emitOpError() << "moves rows of 2 dimensions, found a tile of " << tile.getRank()
                             << " and a view of " << view.getRank();
  if (rows.getRank() != 1 || rows.getDimSize(0) != tile.getDimSize(0))
    return op->emitOpError() << "rows are " << rows << " but the tile has " << tile.getDimSize(0)
                             << " rows";
  if (tile.getElementType() != view.getElementType())
    return op->emitOpError() << "has elements of " << tile.getElementType() << " but the view has "
                             << view.getElementType();
  return checkTile(op, "tile", tile);
}

LogicalResult GatherOp::verify() {
  auto type = typeOf(getTile());
  if (failed(checkRows(*this, type, typeOf(getRows()), cast<MemRefType>(getView().getType()))))
    return failure();
  return checkPadding(*this, getPadding(), type.getElementType());
}

LogicalResult ScatterOp::verify() {
  return checkRows(*this, typeOf(getTile()), typeOf(getRows()),
                   cast<MemRefType>(getView().getType()));
}

LogicalResult AtomicAddOp::verify() {
  auto type = typeOf(getTile());
  Type element = type.getElementType();
  if (!element.isF32() && !element.isInteger(32) && !element.isInteger(64))
    return emitOpError() << "adds f32, i32 or i64, found " << element;
  if (failed(checkTile(*this, "operand", type)))
    return failure();
  return checkTileOfView(*this, cast<MemRefType>(getView().getType()), getCoords().size(),
                         type.getRank(), element);
}

//===-- Computation ---------------------------------------------------------------------------===//

LogicalResult DotOp::verify() {
  auto lhs = typeOf(getLhs()), rhs = typeOf(getRhs()), acc = typeOf(getAcc());
  int64_t rank = lhs.getRank();
  if (rank < 2 || rhs.getRank() != rank || acc.getRank() != rank)
    return emitOpError() << "operands need 2 or more dimensions, the same number: " << lhs << ", "
                         << rhs << ", " << acc;
  auto batch = [&](RankedTensorType type) { return type.getShape().drop_back(2); };
  if (batch(lhs) != batch(rhs) || batch(lhs) != batch(acc))
    return emitOpError() << "batch dimensions differ: " << lhs << ", " << rhs << ", " << acc;
  int64_t rows = lhs.getDimSize(rank - 2), depth = lhs.getDimSize(rank - 1);
  int64_t columns = rhs.getDimSize(rank - 1);
  if (rhs.getDimSize(rank - 2) != depth)
    return emitOpError() << "lhs has " << depth << " columns but rhs has "
                         << rhs.getDimSize(rank - 2) << " rows";
  if (acc.getDimSize(rank - 2) != rows || acc.getDimSize(rank - 1) != columns)
    return emitOpError() << "accumulator is " << acc << " but the product is " << rows << "x"
                         << columns;
  Type element = lhs.getElementType();
  if (rhs.getElementType() != element)
    return emitOpError() << "lhs has elements of " << element << " but rhs has "
                         << rhs.getElementType();
  bool isFloat = isa<FloatType>(element);
  if (!isFloat && !element.isInteger(8))
    return emitOpError() << "multiplies floats or i8, found " << element;
  if (isFloat ? !acc.getElementType().isF32() : !acc.getElementType().isInteger(32))
    return emitOpError() << "accumulates " << element << " in " << (isFloat ? "f32" : "i32")
                         << ", found " << acc.getElementType();
  return success();
}

LogicalResult ReduceOp::verify() {
  auto source = typeOf(getSource()), result = typeOf(getResult());
  if (result.getElementType() != source.getElementType())
    return emitOpError() << "result has elements of " << result.getElementType()
                         << " but the source has " << source.getElementType();
  return checkReduced(*this, getAxis(), source, result);
}

LogicalResult ReduceIndexOp::verify() {
  auto source = typeOf(getSource()), result = typeOf(getResult());
  if (!result.getElementType().isInteger(32))
    return emitOpError() << "gives indices of i32, found " << result.getElementType();
  return checkReduced(*this, getAxis(), source, result);
}

LogicalResult ScanOp::verify() { return checkAxis(*this, getAxis(), typeOf(getSource())); }

LogicalResult CastOp::verify() {
  auto shape = [](Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile ? std::optional(tile.getShape()) : std::nullopt;
  };
  if (shape(getSource().getType()) != shape(getResult().getType()))
    return emitOpError() << "changes the shape: " << getSource().getType() << " to "
                         << getResult().getType();
  bool fromFloat = isa<FloatType>(getElementTypeOrSelf(getSource()));
  bool toFloat = isa<FloatType>(getElementTypeOrSelf(getResult()));
  Rounding rounding = getRounding();
  if (!fromFloat && rounding != Rounding::nearest_even)
    return emitOpError("rounding is stated for a source of integers, which rounds to nearest even");
  if (toFloat && (rounding == Rounding::down || rounding == Rounding::up))
    return emitOpError() << "rounds floats to nearest_even or toward_zero, found "
                         << stringifyRounding(rounding);
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getSource().getType() == getResult().getType() ? getSource() : OpFoldResult();
}

//===-- Shape ---------------------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  auto source = typeOf(getSource()), result = typeOf(getResult());
  bool fits = source.getRank() == result.getRank() &&
              source.getElementType() == result.getElementType() &&
              llvm::all_of(llvm::zip(source.getShape(), result.getShape()), [](auto pair) {
                auto [from, to] = pair;
                return from == to || from == 1;
              });
  if (!fits)
    return emitOpError() << "cannot repeat " << source << " to " << result
                         << ": only extents of 1 are repeated";
  return checkTile(*this, "result", result);
}

LogicalResult TransposeOp::verify() {
  auto source = typeOf(getSource()), result = typeOf(getResult());
  ArrayRef<int64_t> permutation = getPermutation();
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, source.getRank())))
    return emitOpError() << "[" << permutation << "] is no permutation of " << source.getRank()
                         << " dimensions";
  SmallVector<int64_t> expected;
  for (int64_t dim : permutation)
    expected.push_back(source.getDimSize(dim));
  if (result.getShape() != ArrayRef(expected) || result.getElementType() != source.getElementType())
    return emitOpError() << "result is " << result << " but the permuted source has shape ["
                         << expected << "] of " << source.getElementType();
  return success();
}

LogicalResult ReshapeOp::verify() {
  auto source = typeOf(getSource()), result = typeOf(getResult());
  if (source.getNumElements() != result.getNumElements() ||
      source.getElementType() != result.getElementType())
    return emitOpError() << source << " and " << result << " hold different elements";
  return checkTile(*this, "result", result);
}

LogicalResult IotaOp::verify() {
  auto type = typeOf(getResult());
  if (!type.getElementType().isInteger(32))
    return emitOpError() << "counts in i32, found " << type.getElementType();
  return checkAxis(*this, getAxis(), type);
}
