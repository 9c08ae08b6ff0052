// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/core/TileOps.h"
#include "ditron/support/Error.h"
#include "ditron/support/Sizes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <fmt/format.h>

using namespace mlir;
using namespace ditron::core;

#include "ditron/core/ObservableOpInterface.cpp.inc"
#include "ditron/core/TileOpsDialect.cpp.inc"
#include "ditron/core/TileOpsEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ditron/core/TileOpsAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ditron/core/TileOpsTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ditron/core/TileOps.cpp.inc"

//===-- What others observe -------------------------------------------------------------------===//

using Effect = Observation::Effect;
using Observations = SmallVector<Observation, 3>;

Observations LoadOp::observations() { return {{Effect::read, getView()}}; }
Observations StoreOp::observations() { return {{Effect::write, getView()}}; }
Observations GatherOp::observations() { return {{Effect::read, getView()}}; }
Observations ScatterOp::observations() { return {{Effect::write, getView()}}; }
Observations AtomicAddOp::observations() { return {{Effect::update, getView()}}; }

Observations ditron::core::observationsOf(Operation *op) {
  auto observable = dyn_cast<ObservableOp>(op);
  return observable ? observable.observations() : Observations();
}

/// memref.load and memref.store are ops of another dialect.
template <class Op, Effect effect>
struct ObservableElement : ObservableOp::ExternalModel<ObservableElement<Op, effect>, Op> {
  Observations observations(Operation *op) const { return {{effect, cast<Op>(op).getMemRef()}}; }
};

void TileDialect::initialize() {
  memref::LoadOp::attachInterface<ObservableElement<memref::LoadOp, Effect::read>>(*getContext());
  memref::StoreOp::attachInterface<ObservableElement<memref::StoreOp, Effect::write>>(
      *getContext());
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ditron/core/TileOpsAttrs.cpp.inc"
      >();
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

std::optional<int64_t> ditron::core::tileElements(ArrayRef<int64_t> extents) {
  std::optional<int64_t> elements = checkedProduct(extents);
  return elements && *elements >= 1 && *elements <= kMostTileElements ? elements : std::nullopt;
}

static constexpr int64_t kMostDims = 4;

bool ditron::core::isTile(RankedTensorType type) {
  return type.getRank() >= 1 && type.getRank() <= kMostDims && tileElements(type.getShape());
}

/// Tensors of other dialects' ops in a kernel are tiles too: their extents are known, and none of them is
/// larger than a tile.
static LogicalResult checkTileSizes(Operation *kernel) {
  auto refuse = [](Location where, Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && (!tensor.hasStaticShape() || tensor.getRank() > kMostDims))
      return emitError(where) << tensor << " is no tile: expected 1 to " << kMostDims
                              << " dimensions of extents that are known";
    if (!tensor || llvm::is_contained(tensor.getShape(), 0) ||
        ditron::core::tileElements(tensor.getShape()))
      return success();
    return emitError(where) << tensor << " is larger than a tile: expected at most "
                            << kMostTileElements << " elements, choose smaller tiles";
  };
  auto visited = kernel->walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (failed(refuse(op->getLoc(), type)))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        if (failed(refuse(argument.getLoc(), argument.getType())))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(visited.wasInterrupted());
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != kKernelAttr)
    return success();
  if (auto function = dyn_cast<FunctionOpInterface>(op); function && function.isExternal())
    return op->emitError() << "kernel '" << function.getName() << "' has no body";
  return checkTileSizes(op);
}

MemRefType ditron::core::viewType(int64_t rank, Type element, Attribute memorySpace) {
  SmallVector<int64_t> dynamic(rank, ShapedType::kDynamic);
  auto layout = StridedLayoutAttr::get(element.getContext(), ShapedType::kDynamic, dynamic);
  return MemRefType::get(dynamic, element, layout, memorySpace);
}

//===-- Layouts -------------------------------------------------------------------------------===//

LogicalResult LayoutAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                 StringRef text) {
  std::string problem;
  if (!Layout::parse(std::string_view(text), problem))
    return emitError() << "layout \"" << text << "\": " << problem;
  return success();
}

LayoutAttr LayoutAttr::get(MLIRContext *context, const Layout &layout) {
  return get(context, StringRef(layout.canonical().print()));
}

Layout LayoutAttr::layout() const {
  std::string problem;
  return *Layout::parse(std::string_view(getText()), problem);
}

Layout ditron::core::layoutOf(RankedTensorType type) {
  auto attribute = dyn_cast_or_null<LayoutAttr>(type.getEncoding());
  if (!attribute)
    throw InternalError("a tile has no layout where passes before should have given it one");
  return attribute.layout();
}

RankedTensorType ditron::core::withLayout(RankedTensorType type, const Layout &layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               LayoutAttr::get(type.getContext(), layout));
}

//===-- Checks shared by several ops ----------------------------------------------------------===//

static RankedTensorType typeOf(Value tile) { return cast<RankedTensorType>(tile.getType()); }
static MemRefType viewOf(Value view) { return cast<MemRefType>(view.getType()); }

/// Elements of `element` can be read from, or written to, `view` by this core.
static LogicalResult checkAccess(Operation *op, MemRefType view, Type element) {
  if (element != view.getElementType())
    return op->emitOpError() << "tile has elements of " << element << " but view has "
                             << view.getElementType();
  return success();
}

/// `coords` name a tile of `tileRank` dimensions in `view`.
static LogicalResult checkCoords(Operation *op, MemRefType view, size_t coords, int64_t tileRank) {
  if (static_cast<int64_t>(coords) != view.getRank())
    return op->emitOpError() << "has " << coords << " coords but view has " << view.getRank()
                             << " dimensions";
  if (tileRank > view.getRank())
    return op->emitOpError() << "tile has " << tileRank << " dimensions but view only "
                             << view.getRank();
  return success();
}

static LogicalResult checkTileOfView(Operation *op, Value tile, Value view, size_t coords) {
  if (failed(checkCoords(op, viewOf(view), coords, typeOf(tile).getRank())))
    return failure();
  return checkAccess(op, viewOf(view), typeOf(tile).getElementType());
}

static LogicalResult checkPadding(Operation *op, std::optional<TypedAttr> padding, Type element) {
  if (padding && padding->getType() != element)
    return op->emitOpError() << "padding has type " << padding->getType()
                             << " but tile has elements of " << element;
  return success();
}

static LogicalResult checkAxis(Operation *op, int64_t axis, RankedTensorType type) {
  if (axis < 0 || axis >= type.getRank())
    return op->emitOpError() << "axis is " << axis << ", expected 0 to " << type.getRank() - 1
                             << " in " << type;
  return success();
}

/// Elements that combine or compare: floats and integers, not truth values.
static LogicalResult checkNumbers(Operation *op, RankedTensorType source) {
  if (source.getElementType().isInteger(1))
    return op->emitOpError() << "source has elements of i1, expected floats or integers of 8 bits "
                                "or more";
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
    return op->emitOpError() << "result is " << result << " but " << source
                             << " reduced along axis " << axis << " has shape [" << expected << "]";
  return checkNumbers(op, source);
}

//===-- Memory --------------------------------------------------------------------------------===//

LogicalResult LoadOp::verify() {
  if (failed(checkTileOfView(*this, getTile(), getView(), getCoords().size())))
    return failure();
  return checkPadding(*this, getPadding(), typeOf(getTile()).getElementType());
}

LogicalResult StoreOp::verify() {
  return checkTileOfView(*this, getTile(), getView(), getCoords().size());
}

LogicalResult ChunkOp::verify() {
  MemRefType view = viewOf(getView());
  int64_t rank = getShape().size();
  if (getShape().empty() || llvm::any_of(getShape(), [](int64_t extent) { return extent < 1; }))
    return emitOpError() << "shape is [" << getShape() << "], expected extents of 1 or more";
  if (!checkedProduct(getShape()))
    return emitOpError() << "shape is [" << getShape() << "], expected a product below 2^63";
  if (failed(checkCoords(*this, view, getCoords().size(), rank)))
    return failure();
  MemRefType expected = viewType(rank, view.getElementType(), view.getMemorySpace());
  if (getChunk().getType() != expected)
    return emitOpError() << "chunk is " << getChunk().getType() << ", expected " << expected;
  return success();
}

LogicalResult SelectViewOp::verify() {
  if (getViews().empty())
    return emitOpError("selects among no views, expected 1 or more");
  for (auto [n, view] : llvm::enumerate(getViews()))
    if (view.getType() != getView().getType())
      return emitOpError() << "view " << n << " is " << view.getType() << ", expected "
                           << getView().getType() << ", as the result is";
  return success();
}

// tile.select_view %number of (%a, %b) : memref<...>
ParseResult SelectViewOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand number;
  SmallVector<OpAsmParser::UnresolvedOperand> views;
  Type type;
  if (parser.parseOperand(number) || parser.parseKeyword("of") ||
      parser.parseOperandList(views, OpAsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type) ||
      parser.resolveOperand(number, parser.getBuilder().getIndexType(), result.operands) ||
      parser.resolveOperands(views, type, result.operands))
    return failure();
  result.addTypes(type);
  return success();
}

void SelectViewOp::print(OpAsmPrinter &printer) {
  printer << " " << getNumber() << " of (" << getViews() << ")";
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : " << getView().getType();
}

/// The rows, the tile and the view of a gather or scatter fit.
static LogicalResult checkRows(Operation *op, RankedTensorType tile, RankedTensorType rows,
                               MemRefType view) {
  if (tile.getRank() != 2 || view.getRank() != 2)
    return op->emitOpError() << "moves rows between 2 dimensions, but tile has " << tile.getRank()
                             << " and view has " << view.getRank();
  if (rows.getDimSize(0) != tile.getDimSize(0))
    return op->emitOpError() << "has " << rows.getDimSize(0) << " rows but tile has "
                             << tile.getDimSize(0);
  return checkAccess(op, view, tile.getElementType());
}

LogicalResult GatherOp::verify() {
  auto type = typeOf(getTile());
  if (failed(checkRows(*this, type, typeOf(getRows()), viewOf(getView()))))
    return failure();
  return checkPadding(*this, getPadding(), type.getElementType());
}

LogicalResult ScatterOp::verify() {
  return checkRows(*this, typeOf(getTile()), typeOf(getRows()), viewOf(getView()));
}

LogicalResult AtomicAddOp::verify() {
  Type element = typeOf(getTile()).getElementType();
  if (!element.isF32() && !element.isInteger(32) && !element.isInteger(64))
    return emitOpError() << "tile has elements of " << element << ", expected f32, i32 or i64";
  return checkTileOfView(*this, getTile(), getView(), getCoords().size());
}

//===-- Computation ---------------------------------------------------------------------------===//

/// The extents of a product fit: [batch..., M, K] x [batch..., K, N] -> [batch..., M, N].
static LogicalResult checkDotShapes(DotOp op) {
  auto lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs()), acc = typeOf(op.getAcc());
  int64_t rank = lhs.getRank();
  if (rank < 2 || rhs.getRank() != rank || acc.getRank() != rank)
    return op.emitOpError() << "lhs, rhs and acc need one number of dimensions, 2 or more; found "
                            << lhs << ", " << rhs << ", " << acc;
  auto batch = [](RankedTensorType type) { return type.getShape().drop_back(2); };
  if (batch(lhs) != batch(rhs) || batch(lhs) != batch(acc))
    return op.emitOpError() << "batch dimensions of lhs, rhs and acc differ: " << lhs << ", " << rhs
                            << ", " << acc;
  int64_t rows = lhs.getDimSize(rank - 2), depth = lhs.getDimSize(rank - 1);
  int64_t columns = rhs.getDimSize(rank - 1);
  if (rhs.getDimSize(rank - 2) != depth)
    return op.emitOpError() << "lhs has " << depth << " columns but rhs has "
                            << rhs.getDimSize(rank - 2) << " rows";
  if (acc.getDimSize(rank - 2) != rows || acc.getDimSize(rank - 1) != columns)
    return op.emitOpError() << "acc is " << acc << " but the product is " << rows << "x" << columns;
  return success();
}

LogicalResult DotOp::verify() {
  if (failed(checkDotShapes(*this)))
    return failure();
  Type lhs = typeOf(getLhs()).getElementType(), rhs = typeOf(getRhs()).getElementType();
  Type acc = typeOf(getAcc()).getElementType();
  if (rhs != lhs)
    return emitOpError() << "lhs has elements of " << lhs << " but rhs has " << rhs;
  bool isFloat = isa<FloatType>(lhs);
  if (!isFloat && !lhs.isInteger(8))
    return emitOpError() << "lhs has elements of " << lhs << ", expected floats or i8";
  if (isFloat ? !acc.isF32() : !acc.isInteger(32))
    return emitOpError() << "acc has elements of " << acc << ", expected "
                         << (isFloat ? "f32" : "i32") << " for a product of " << lhs;
  if (getPrecision() == Precision::tf32 && !lhs.isF32())
    return emitOpError() << "precision tf32 is for f32, but lhs has elements of " << lhs;
  if (getPrecision() == Precision::fastAccum && !(isFloat && lhs.getIntOrFloatBitWidth() == 8))
    return emitOpError() << "precision fast_accum is for 8-bit floats, but lhs has elements of "
                         << lhs;
  return success();
}

LogicalResult ReduceOp::verify() {
  auto source = typeOf(getSource()), result = typeOf(getResult());
  if (result.getElementType() != source.getElementType())
    return emitOpError() << "result has elements of " << result.getElementType()
                         << " but source has " << source.getElementType();
  return checkReduced(*this, getAxis(), source, result);
}

LogicalResult ReduceIndexOp::verify() {
  auto source = typeOf(getSource()), result = typeOf(getResult());
  if (!result.getElementType().isInteger(32))
    return emitOpError() << "result has elements of " << result.getElementType()
                         << ", expected i32";
  return checkReduced(*this, getAxis(), source, result);
}

LogicalResult ScanOp::verify() {
  if (failed(checkAxis(*this, getAxis(), typeOf(getSource()))))
    return failure();
  return checkNumbers(*this, typeOf(getSource()));
}

LogicalResult CastOp::verify() {
  auto shape = [](Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile ? std::optional(tile.getShape()) : std::nullopt;
  };
  if (shape(getSource().getType()) != shape(getResult().getType()))
    return emitOpError() << "source is " << getSource().getType() << " but result is "
                         << getResult().getType() << ", of another shape";
  bool fromFloat = isa<FloatType>(getElementTypeOrSelf(getSource()));
  bool toFloat = isa<FloatType>(getElementTypeOrSelf(getResult()));
  Rounding rounding = getRounding();
  if (!fromFloat && rounding != Rounding::nearest_even)
    return emitOpError() << "rounding is " << stringifyRounding(rounding)
                         << " but source has integers, which round to nearest_even only";
  if (toFloat && (rounding == Rounding::down || rounding == Rounding::up))
    return emitOpError() << "rounding is " << stringifyRounding(rounding)
                         << ", expected nearest_even or toward_zero between floats";
  return success();
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
    return emitOpError() << "source " << source << " does not repeat to " << result
                         << ": only extents of 1 do";
  return success();
}

LogicalResult TransposeOp::verify() {
  auto source = typeOf(getSource()), result = typeOf(getResult());
  ArrayRef<int64_t> permutation = getPermutation();
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, source.getRank())))
    return emitOpError() << "permutation is [" << permutation << "], expected each of 0 to "
                         << source.getRank() - 1 << " once";
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
    return emitOpError() << "source " << source << " and result " << result
                         << " hold different elements";
  return success();
}

LogicalResult ConvertLayoutOp::verify() {
  auto source = typeOf(getSource()), result = typeOf(getResult());
  if (source.getShape() != result.getShape() || source.getElementType() != result.getElementType())
    return emitOpError() << "source " << source << " and result " << result
                         << " hold different elements";
  for (RankedTensorType type : {source, result}) {
    auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding());
    if (!layout)
      return emitOpError() << type << " has no layout, expected #tile.layout<...>";
    if (layout.layout().size() != type.getNumElements())
      return emitOpError() << type << " has " << type.getNumElements()
                           << " elements but its layout has " << layout.layout().size();
  }
  return success();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  return getSource().getType() == getResult().getType() ? getSource() : OpFoldResult();
}

LogicalResult IotaOp::verify() {
  auto type = typeOf(getResult());
  if (!type.getElementType().isInteger(32))
    return emitOpError() << "result has elements of " << type.getElementType() << ", expected i32";
  return checkAxis(*this, getAxis(), type);
}

//===-- Checks --------------------------------------------------------------------------------===//

LogicalResult RequireOp::verify() {
  size_t places = getMessage().count("{}"), values = getValues().size();
  if (places != values)
    return emitOpError() << "message has " << places << " places '{}' for " << values << " values";
  if (values > ditron::core::kMaxMessageValues)
    return emitOpError() << "has " << values << " values, expected at most "
                         << ditron::core::kMaxMessageValues;
  return success();
}

LogicalResult RequireOp::canonicalize(RequireOp op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getCondition(), m_One()))
    return rewriter.notifyMatchFailure(op, "the condition is not known to hold");
  rewriter.eraseOp(op);
  return success();
}
