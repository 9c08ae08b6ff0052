// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/DistOps.h"
#include "ditron/device/Order.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ditron::device;

#include "ditron/device/DistOpsDialect.cpp.inc"
#include "ditron/device/DistOpsEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ditron/device/DistOpsAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ditron/device/DistOpsTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ditron/device/DistOps.cpp.inc"

void DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ditron/device/DistOpsAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ditron/device/DistOpsTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ditron/device/DistOps.cpp.inc"
      >();
}

namespace ditron::device {

std::optional<SpaceKind> spaceOf(Type memref) {
  auto type = dyn_cast<MemRefType>(memref);
  auto space = type ? dyn_cast_or_null<SpaceAttr>(type.getMemorySpace()) : SpaceAttr();
  return space ? std::optional(space.getKind()) : std::nullopt;
}

MemRefType viewType(int64_t rank, Type element, std::optional<SpaceKind> space) {
  MLIRContext *context = element.getContext();
  SmallVector<int64_t> dynamic(rank, ShapedType::kDynamic);
  auto layout = StridedLayoutAttr::get(context, ShapedType::kDynamic, dynamic);
  Attribute where = space ? SpaceAttr::get(context, *space) : Attribute();
  return MemRefType::get(dynamic, element, layout, where);
}

} // namespace ditron::device

//===-- Attributes and types ------------------------------------------------------------------===//

LogicalResult OrderAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                int64_t parameter, ShardedAxis) {
  if (!findOrder<int64_t>(std::string_view(name)))
    return emitError() << "unknown order '" << name << "', known are " << orderNames();
  if (parameter < 1)
    return emitError() << "order '" << name << "' has parameter " << parameter
                       << ", expected 1 or more";
  return success();
}

Type SignalsType::parse(AsmParser &parser) {
  int64_t rank = 0;
  bool remote = false;
  if (parser.parseLess() || parser.parseInteger(rank))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("remote"))
      return {};
    remote = true;
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), rank, remote);
}

void SignalsType::print(AsmPrinter &printer) const {
  printer << "<" << getRank() << (getRemote() ? ", remote>" : ">");
}

//===-- Symmetric memory ----------------------------------------------------------------------===//

/// Symmetric allocations stand at the top of a kernel: their sizes are known before the launch.
static LogicalResult checkAtTop(Operation *op) {
  if (!isa_and_nonnull<FunctionOpInterface>(op->getParentOp()))
    return op->emitOpError(
        "must stand outside of loops, branches and roles: every rank allocates it "
        "before the launch");
  return success();
}

LogicalResult SymmetricOp::verify() {
  auto type = cast<MemRefType>(getBuffer().getType());
  if (spaceOf(type) != SpaceKind::symmetric)
    return emitOpError() << "gives symmetric memory, found " << type;
  if (type.getRank() != static_cast<int64_t>(getExtents().size()))
    return emitOpError() << "has " << getExtents().size() << " extents but its type has "
                         << type.getRank();
  return checkAtTop(*this);
}

LogicalResult SignalsOp::verify() {
  auto type = cast<SignalsType>(getSignals().getType());
  if (type.getRemote())
    return emitOpError("declares signals of this rank, found remote ones");
  if (type.getRank() != static_cast<int64_t>(getExtents().size()))
    return emitOpError() << "has " << getExtents().size() << " extents but its type has "
                         << type.getRank();
  return checkAtTop(*this);
}

LogicalResult OnOp::verify() {
  Type source = getSource().getType(), result = getResult().getType();
  if (auto signals = dyn_cast<SignalsType>(source)) {
    if (signals.getRemote() ||
        result != SignalsType::get(getContext(), signals.getRank(), /*remote=*/true))
      return emitOpError() << "turns own signals into the peer's, found " << source << " to "
                           << result;
    return success();
  }
  if (spaceOf(source) != SpaceKind::symmetric)
    return emitOpError() << "names symmetric memory of a peer, but the operand is not symmetric: "
                         << source;
  auto type = cast<MemRefType>(source);
  auto remote = MemRefType::get(type.getShape(), type.getElementType(), type.getLayout(),
                                SpaceAttr::get(getContext(), SpaceKind::remote));
  if (result != remote)
    return emitOpError() << "result is " << result << ", expected " << remote;
  return success();
}

//===-- Movement and order --------------------------------------------------------------------===//

static LogicalResult checkMove(Operation *op, Type source, Type destination) {
  auto from = cast<MemRefType>(source), to = cast<MemRefType>(destination);
  if (from.getElementType() != to.getElementType())
    return op->emitOpError() << "source has elements of " << from.getElementType()
                             << " but destination has " << to.getElementType();
  if (from.getRank() != to.getRank())
    return op->emitOpError() << "source has " << from.getRank()
                             << " dimensions but destination has " << to.getRank();
  return success();
}

static LogicalResult checkPut(Operation *op, Type source, Type destination) {
  if (spaceOf(destination) != SpaceKind::remote)
    return op->emitOpError() << "writes a peer's symmetric memory, but the destination is "
                             << destination;
  return checkMove(op, source, destination);
}

LogicalResult PutOp::verify() {
  return checkPut(*this, getSource().getType(), getDestination().getType());
}

LogicalResult GetOp::verify() {
  if (spaceOf(getSource().getType()) != SpaceKind::remote)
    return emitOpError() << "reads a peer's symmetric memory, but the source is "
                         << getSource().getType();
  return checkMove(*this, getSource().getType(), getDestination().getType());
}

static LogicalResult checkIndices(Operation *op, Type signals, size_t indices) {
  int64_t rank = cast<SignalsType>(signals).getRank();
  if (rank != static_cast<int64_t>(indices))
    return op->emitOpError() << "names " << indices << " indices in signals of " << rank
                             << " dimensions";
  return success();
}

LogicalResult NotifyOp::verify() {
  return checkIndices(*this, getSignals().getType(), getIndices().size());
}

LogicalResult PutNotifyOp::verify() {
  if (failed(checkPut(*this, getSource().getType(), getDestination().getType())))
    return failure();
  return checkIndices(*this, getSignals().getType(), getIndices().size());
}

LogicalResult WaitOp::verify() {
  if (cast<SignalsType>(getSignals().getType()).getRemote())
    return emitOpError("waits on a signal of this rank, found a peer's");
  return checkIndices(*this, getSignals().getType(), getIndices().size());
}

//===-- Work ----------------------------------------------------------------------------------===//

LogicalResult TilesOp::verify() {
  if (getExtents().empty() || getExtents().size() > 4)
    return emitOpError() << "deals a grid of 1 to 4 dimensions, found " << getExtents().size();
  if (getHeight() < 1)
    return emitOpError() << "height is " << getHeight() << ", expected 1 or more";
  Block &block = getBody().front();
  if (block.getNumArguments() != getExtents().size())
    return emitOpError() << "has " << getExtents().size() << " extents but its body takes "
                         << block.getNumArguments() << " coordinates";
  for (BlockArgument argument : block.getArguments())
    if (!argument.getType().isIndex())
      return emitOpError() << "coordinates are of index type, found " << argument.getType();
  return success();
}

// dist.tiles (%i, %j) of (%rows, %columns) order <"name", 8> elements %m height 128 { ... }
ParseResult TilesOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> coords;
  SmallVector<OpAsmParser::UnresolvedOperand> extents;
  OpAsmParser::UnresolvedOperand elements;
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType();
  OrderAttr order;
  if (parser.parseArgumentList(coords, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("of") ||
      parser.parseOperandList(extents, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("order") ||
      parser.parseCustomAttributeWithFallback(order, Type(), "order", result.attributes))
    return failure();
  bool hasElements = succeeded(parser.parseOptionalKeyword("elements"));
  int64_t height = 1;
  if (hasElements && (parser.parseOperand(elements) || parser.parseKeyword("height") ||
                      parser.parseInteger(height)))
    return failure();
  for (OpAsmParser::Argument &coord : coords)
    coord.type = index;
  if (parser.resolveOperands(extents, index, result.operands) ||
      (hasElements && parser.resolveOperand(elements, index, result.operands)) ||
      parser.parseRegion(*result.addRegion(), coords) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  auto &properties = result.getOrAddProperties<TilesOp::Properties>();
  properties.operandSegmentSizes = {static_cast<int32_t>(extents.size()), hasElements ? 1 : 0};
  if (hasElements)
    result.addAttribute("height", builder.getI64IntegerAttr(height));
  return success();
}

void TilesOp::print(OpAsmPrinter &printer) {
  printer << " (" << getBody().front().getArguments() << ") of (" << getExtents() << ") order ";
  printer.printStrippedAttrOrType(getOrderAttr());
  if (getElements())
    printer << " elements " << getElements() << " height " << getHeight();
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs(), {"order", "height", "operandSegmentSizes"});
}
