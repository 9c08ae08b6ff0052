// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/DistOps.h"
#include "ditron/device/Order.h"
#include "ditron/support/MeshAxes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ditron;
using namespace ditron::device;

//===-- How a wait compares -------------------------------------------------------------------===//

static ParseResult parseWaitTest(OpAsmParser &parser, WaitTestAttr &test) {
  bool atLeast = succeeded(parser.parseOptionalGreater());
  if (!atLeast && failed(parser.parseOptionalEqual()))
    return parser.emitError(parser.getCurrentLocation(), "expected '>=' or '=='");
  test = WaitTestAttr::get(parser.getContext(), atLeast ? WaitTest::atLeast : WaitTest::exactly);
  return parser.parseEqual();
}

static void printWaitTest(OpAsmPrinter &printer, Operation *, WaitTestAttr test) {
  printer << stringifyWaitTest(test.getValue());
}

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
  Attribute where = space ? SpaceAttr::get(element.getContext(), *space) : Attribute();
  return core::viewType(rank, element, where);
}

std::optional<NotifyMode> notifyModeOf(Operation *op) {
  if (auto notify = dyn_cast<NotifyOp>(op))
    return notify.getMode();
  auto put = dyn_cast<PutNotifyOp>(op);
  return put ? std::optional(put.getMode()) : std::nullopt;
}

SmallVector<RoleOp> copyRoles(Operation *kernel) {
  SmallVector<RoleOp> roles;
  for (Region &region : kernel->getRegions())
    for (RoleOp role : region.getOps<RoleOp>())
      if (role.getEngine() == Engine::copy)
        roles.push_back(role);
  return roles;
}

int64_t instances(Operation *kernel, int64_t cores) {
  return cores + (copyRoles(kernel).empty() ? 0 : 1);
}

PlacementAttr placementOf(func::FuncOp kernel, unsigned argument) {
  return kernel.getArgAttrOfType<PlacementAttr>(argument, kPlacementAttr);
}

bool isPlaced(func::FuncOp kernel) {
  return llvm::any_of(llvm::seq(kernel.getNumArguments()),
                      [&](unsigned n) { return bool(placementOf(kernel, n)); });
}

bool hasVerbs(Operation *kernel) {
  return kernel
      ->walk([](Operation *op) {
        bool knows =
            isa<RankOp, NumRanksOp, RankAtOp, SymmetricOp, SignalsOp, InboxOp, BarrierOp>(op);
        return knows ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool isOfRanks(Operation *kernel) {
  auto function = dyn_cast<func::FuncOp>(kernel);
  return (function && isPlaced(function)) || hasVerbs(kernel);
}

} // namespace ditron::device

//===-- Attributes and types ------------------------------------------------------------------===//

LogicalResult OrderAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                int64_t parameter, ShardedAxis, int64_t rounds, StringRef axis) {
  if (!findOrder<int64_t>(std::string_view(name)))
    return emitError() << "unknown order '" << name << "', known are " << orderNames();
  if (parameter < 1)
    return emitError() << "order '" << name << "' has parameter " << parameter
                       << ", expected 1 or more";
  if (rounds < 1 || (rounds > 1 && name != "next-rank-first" && name != "others-ahead"))
    return emitError() << "order '" << name << "' has " << rounds
                       << " rounds, expected 1 (next-rank-first and others-ahead may have more)";
  if (axis != MeshAxis::world && !isAxisName(std::string_view(axis)))
    return emitError() << "order along '" << axis << "', expected the name of an axis";
  return success();
}

LogicalResult PlacementAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                    PlacementKind kind, int64_t dim, int64_t cores, Engine engine,
                                    int64_t chunks, int64_t wave, int64_t rounds, bool rounded,
                                    bool ring, StringRef axis, StringRef counts) {
  bool takesDim = kind != PlacementKind::allReduced;
  if (takesDim && dim < 0)
    return emitError() << "placement " << stringifyPlacementKind(kind) << " names no dimension";
  if (!takesDim && dim != -1)
    return emitError() << "placement " << stringifyPlacementKind(kind) << " names dimension " << dim
                       << ", expected none";
  bool isExchanged = kind == PlacementKind::exchanged;
  if (isExchanged == counts.empty())
    return emitError() << "placement " << stringifyPlacementKind(kind)
                       << (isExchanged ? " names no counts" : " names counts, expected none");
  if (isExchanged && (dim != 0 || engine != Engine::core))
    return emitError() << "placement exchanged, expected dimension 0 and cores, which read counts";
  if (cores < 0)
    return emitError() << "placement has " << cores << " cores, expected 0 or more";
  if (engine == Engine::nic)
    return emitError() << "placement on nic, expected core or copy";
  bool isGathered = kind == PlacementKind::gathered,
       isChunked = !isGathered && engine == Engine::copy;
  if (chunks < 1)
    return emitError() << "placement has " << chunks << " chunks, expected 1 or more";
  if (chunks > 1 && !isChunked)
    return emitError() << "placement " << stringifyPlacementKind(kind) << " on "
                       << stringifyEngine(engine) << " has " << chunks
                       << " chunks, expected 1, or a sum on copy";
  if (wave < 0 || (wave > 0 && (kind != PlacementKind::allReduced || !isChunked)))
    return emitError() << "placement " << stringifyPlacementKind(kind) << " on "
                       << stringifyEngine(engine) << " has waves of " << wave
                       << " tiles, expected 0 (all_reduced on copy may have more)";
  if (rounds < 1 || (rounds > 1 && kind != PlacementKind::allReduced))
    return emitError() << "placement " << stringifyPlacementKind(kind) << " has " << rounds
                       << " rounds, expected 1 (all_reduced may have more)";
  if (rounds > 1 && engine == Engine::copy && (rounds != 2 || chunks != 2 || wave != 0))
    return emitError() << "placement on copy has " << rounds << " rounds, " << chunks
                       << " chunks and waves of " << wave
                       << ", expected 2 rounds, which are its 2 chunks, without waves";
  if (rounded && (isGathered || isExchanged))
    return emitError() << "placement " << stringifyPlacementKind(kind)
                       << " is rounded, expected a sum";
  if (axis != MeshAxis::world && !isAxisName(std::string_view(axis)))
    return emitError() << "placement along '" << axis << "', expected the name of an axis";
  if (ring && !isGathered)
    return emitError() << "placement " << stringifyPlacementKind(kind)
                       << " goes round a ring, expected gathered";
  return success();
}

/// The attributes of a kernel's arguments.
LogicalResult DistDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                    NamedAttribute attribute) {
  if (attribute.getName() != kPlacementAttr)
    return success();
  auto placement = dyn_cast<PlacementAttr>(attribute.getValue());
  if (!placement)
    return op->emitError() << kPlacementAttr << " of argument " << argument << " is "
                           << attribute.getValue() << ", expected #dist.placement";
  Type type = cast<FunctionOpInterface>(op).getArgumentTypes()[argument];
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return op->emitError() << "argument " << argument << " is placed but is of " << type
                           << ", expected a memref";
  if (placement.getDim() >= memref.getRank())
    return op->emitError() << "argument " << argument << " is placed along dimension "
                           << placement.getDim() << " but has " << memref.getRank()
                           << " dimensions";
  return success();
}

LogicalResult SignalsType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rank) {
  if (rank < 0 || rank > 4)
    return emitError() << "signals have " << rank << " dimensions, expected 0 to 4";
  return success();
}

LogicalResult InboxType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rank,
                                RankedTensorType tile) {
  if (rank < 0 || rank > 4)
    return emitError() << "an inbox has " << rank << " dimensions, expected 0 to 4";
  if (!core::isTile(tile) || tile.getRank() > 2)
    return emitError() << "an inbox has slots for " << tile
                       << ", expected tiles of 1 or 2 dimensions";
  if (tile.getEncoding() || tile.getElementType().isInteger(1))
    return emitError() << "an inbox has slots for " << tile << ", expected no layout and no i1";
  return success();
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

static LogicalResult checkName(Operation *op, StringRef name) {
  if (name.empty())
    return op->emitOpError("name is empty, expected one for messages and traces");
  return success();
}

LogicalResult SymmetricOp::verify() {
  auto type = cast<MemRefType>(getBuffer().getType());
  int64_t rank = getExtents().size();
  MemRefType expected = viewType(rank, type.getElementType(), SpaceKind::symmetric);
  if (type != expected)
    return emitOpError() << "buffer is " << type << ", expected " << expected << " of " << rank
                         << " extents";
  return failed(checkName(*this, getName())) ? failure() : checkAtTop(*this);
}

LogicalResult SignalsOp::verify() {
  auto type = cast<SignalsType>(getSignals().getType());
  if (type.getRank() != static_cast<int64_t>(getExtents().size()))
    return emitOpError() << "has " << getExtents().size() << " extents but " << type << " has "
                         << type.getRank() << " dimensions";
  return failed(checkName(*this, getName())) ? failure() : checkAtTop(*this);
}

LogicalResult InboxOp::verify() {
  auto type = cast<InboxType>(getInbox().getType());
  if (type.getRank() != static_cast<int64_t>(getExtents().size()))
    return emitOpError() << "has " << getExtents().size() << " extents but " << type << " has "
                         << type.getRank() << " dimensions";
  return failed(checkName(*this, getName())) ? failure() : checkAtTop(*this);
}

//===-- What others observe -------------------------------------------------------------------===//

using core::Observation;
using Effect = Observation::Effect;
using Observations = SmallVector<Observation, 3>;

Observations PutOp::observations() {
  return {{Effect::read, getSource()}, {Effect::write, getDestination(), {}, &getPeerMutable()}};
}

Observations PutTileOp::observations() {
  return {{Effect::write, getDestination(), {}, &getPeerMutable()}};
}

Observations GetOp::observations() {
  return {{Effect::read, getSource(), {}, &getPeerMutable()}, {Effect::write, getDestination()}};
}

Observations NotifyOp::observations() {
  MutableOperandRange peer = getPeerMutable();
  return {{Effect::notify, getSignals(), getIndices(), peer.empty() ? nullptr : &peer[0]}};
}

Observations PutNotifyOp::observations() {
  OpOperand *peer = &getPeerMutable();
  return {{Effect::read, getSource()},
          {Effect::write, getDestination(), {}, peer},
          {Effect::notify, getSignals(), getIndices(), peer}};
}

Observations WaitOp::observations() { return {{Effect::wait, getSignals(), getIndices()}}; }
Observations SendOp::observations() {
  return {{Effect::notify, getInbox(), getIndices(), &getPeerMutable()}};
}
Observations ReceiveOp::observations() { return {{Effect::wait, getInbox(), getIndices()}}; }
Observations FenceOp::observations() { return {{Effect::order}}; }
Observations QuietOp::observations() { return {{Effect::order}}; }
Observations BarrierOp::observations() { return {{Effect::order}}; }

//===-- Verifiers of verbs --------------------------------------------------------------------===//

/// A chunk moves between memory of this rank and symmetric memory, which a peer has too.
static LogicalResult checkMove(Operation *op, StringRef peerSide, Type peers, Type source,
                               Type destination) {
  auto from = cast<MemRefType>(source), to = cast<MemRefType>(destination);
  if (spaceOf(peers) != SpaceKind::symmetric)
    return op->emitOpError() << peerSide << " is " << peers
                             << ", expected symmetric memory, which a peer has too";
  if (from.getElementType() != to.getElementType())
    return op->emitOpError() << "source has elements of " << from.getElementType()
                             << " but destination has " << to.getElementType();
  if (from.getRank() != to.getRank())
    return op->emitOpError() << "source has " << from.getRank()
                             << " dimensions but destination has " << to.getRank();
  return success();
}

template <class Put> static LogicalResult checkPut(Put op) {
  Type destination = op.getDestination().getType();
  return checkMove(op, "destination", destination, op.getSource().getType(), destination);
}

LogicalResult PutOp::verify() { return checkPut(*this); }

LogicalResult PutTileOp::verify() {
  Type destination = getDestination().getType();
  if (spaceOf(destination) != SpaceKind::symmetric)
    return emitOpError() << "destination is " << destination
                         << ", expected symmetric memory, which a peer has too";
  auto view = cast<MemRefType>(destination);
  auto tile = cast<RankedTensorType>(getTile().getType());
  if (tile.getElementType() != view.getElementType())
    return emitOpError() << "tile has elements of " << tile.getElementType()
                         << " but destination has " << view.getElementType();
  if (static_cast<int64_t>(getCoords().size()) != view.getRank() || tile.getRank() > view.getRank())
    return emitOpError() << "has " << getCoords().size() << " coordinates and " << tile
                         << ", expected " << view.getRank() << " coordinates and dimensions of "
                         << view;
  return success();
}

LogicalResult GetOp::verify() {
  Type source = getSource().getType();
  return checkMove(*this, "source", source, source, getDestination().getType());
}

static LogicalResult checkIndices(Operation *op, Type signals, size_t indices) {
  int64_t rank = cast<SignalsType>(signals).getRank();
  if (rank != static_cast<int64_t>(indices))
    return op->emitOpError() << "has " << indices << " indices but signals have " << rank
                             << " dimensions";
  return success();
}

LogicalResult NotifyOp::verify() {
  return checkIndices(*this, getSignals().getType(), getIndices().size());
}

LogicalResult PutNotifyOp::verify() {
  if (failed(checkPut(*this)))
    return failure();
  if (getMode() != NotifyMode::add && getMode() != NotifyMode::set)
    return emitOpError() << "mode is '" << stringifyNotifyMode(getMode())
                         << "', expected 'add' or 'set': other modes stand in dist.notify alone";
  return checkIndices(*this, getSignals().getType(), getIndices().size());
}

LogicalResult WaitOp::verify() {
  return checkIndices(*this, getSignals().getType(), getIndices().size());
}

/// A slot is named by as many indices as the inbox has dimensions, and takes one kind of tile.
template <class Op> static LogicalResult checkSlot(Op op) {
  auto type = cast<InboxType>(op.getInbox().getType());
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  if (type.getRank() != static_cast<int64_t>(op.getIndices().size()))
    return op.emitOpError() << "has " << op.getIndices().size() << " indices but " << type
                            << " has " << type.getRank() << " dimensions";
  if (tile.getShape() != type.getTile().getShape() ||
      tile.getElementType() != type.getTile().getElementType())
    return op.emitOpError() << "has " << tile << " but the slots are for " << type.getTile();
  return success();
}

LogicalResult SendOp::verify() { return checkSlot(*this); }
LogicalResult ReceiveOp::verify() { return checkSlot(*this); }

//===-- Work ----------------------------------------------------------------------------------===//

LogicalResult RoleOp::verify() { return checkName(*this, getName()); }

LogicalResult BarrierOp::verify() {
  if ((*this)->getParentOfType<TilesOp>())
    return emitOpError(
        "stands inside of dist.tiles: cores run different numbers of tiles, and would "
        "not all meet");
  return success();
}

void TilesOp::build(OpBuilder &builder, OperationState &state, ValueRange extents, Value elements,
                    IntegerAttr height, OrderAttr order) {
  build(builder, state, extents, elements, Value(), Value(), height, order);
}
void TilesOp::build(OpBuilder &builder, OperationState &state, ValueRange extents, Value elements,
                    int64_t height, OrderAttr order) {
  build(builder, state, extents, elements, builder.getI64IntegerAttr(height), order);
}

LogicalResult TilesOp::verify() {
  if (getExtents().empty() || getExtents().size() > 4)
    return emitOpError() << "has " << getExtents().size() << " extents, expected 1 to 4";
  if ((*this)->getParentOfType<TilesOp>())
    return emitOpError("stands inside of another dist.tiles, whose tiles run on different cores; "
                       "expected a loop of scf.for");
  if (!getFirst() != !getEnd())
    return emitOpError("has one end of a range of tiles, expected both or none");
  if (getHeight() < 1)
    return emitOpError() << "height is " << getHeight() << ", expected 1 or more";
  Block &block = getBody().front();
  if (block.getNumArguments() != getExtents().size())
    return emitOpError() << "has " << getExtents().size() << " extents but its body takes "
                         << block.getNumArguments() << " coordinates";
  for (BlockArgument argument : block.getArguments())
    if (!argument.getType().isIndex())
      return emitOpError() << "coordinate " << argument.getArgNumber() << " is "
                           << argument.getType() << ", expected index";
  return success();
}

LogicalResult MarkTileOp::verify() {
  if (size_t found = getCoordinates().size(); found > kMostTileDims)
    return emitOpError() << "has " << found << " coordinates, expected at most " << kMostTileDims;
  return success();
}

// dist.tiles (%i, %j) of (%rows, %columns) from %first to %end order <"name", 8> elements %m height 128 {
//   ...
// }
ParseResult TilesOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> coords;
  SmallVector<OpAsmParser::UnresolvedOperand> extents;
  OpAsmParser::UnresolvedOperand elements, first, end;
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType();
  OrderAttr order;
  if (parser.parseArgumentList(coords, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("of") || parser.parseOperandList(extents, OpAsmParser::Delimiter::Paren))
    return failure();
  bool hasRange = succeeded(parser.parseOptionalKeyword("from"));
  if (hasRange &&
      (parser.parseOperand(first) || parser.parseKeyword("to") || parser.parseOperand(end)))
    return failure();
  if (parser.parseKeyword("order") ||
      parser.parseCustomAttributeWithFallback(order, Type(), "order", result.attributes))
    return failure();
  bool hasElements = succeeded(parser.parseOptionalKeyword("elements"));
  if (hasElements && parser.parseOperand(elements))
    return failure();
  int64_t height = 1;
  if (succeeded(parser.parseOptionalKeyword("height")) && parser.parseInteger(height))
    return failure();
  for (OpAsmParser::Argument &coord : coords)
    coord.type = index;
  Region *body = result.addRegion();
  if (parser.resolveOperands(extents, index, result.operands) ||
      (hasElements && parser.resolveOperand(elements, index, result.operands)) ||
      (hasRange && (parser.resolveOperand(first, index, result.operands) ||
                    parser.resolveOperand(end, index, result.operands))) ||
      parser.parseRegion(*body, coords) || parser.parseOptionalAttrDict(result.attributes))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  auto &properties = result.getOrAddProperties<TilesOp::Properties>();
  properties.operandSegmentSizes = {static_cast<int32_t>(extents.size()), hasElements ? 1 : 0,
                                    hasRange ? 1 : 0, hasRange ? 1 : 0};
  result.addAttribute("height", builder.getI64IntegerAttr(height));
  return success();
}

void TilesOp::print(OpAsmPrinter &printer) {
  printer << " (" << getBody().front().getArguments() << ") of (" << getExtents() << ")";
  if (getFirst())
    printer << " from " << getFirst() << " to " << getEnd();
  printer << " order ";
  printer.printStrippedAttrOrType(getOrderAttr());
  if (getElements())
    printer << " elements " << getElements();
  if (getHeight() != 1)
    printer << " height " << getHeight();
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs(), {"order", "height", "operandSegmentSizes"});
}
