// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;

#include "ditron/targets/gpu/ops/SimtOpsDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ditron/targets/gpu/ops/SimtOpsTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ditron/targets/gpu/ops/SimtOps.cpp.inc"

void ditron::gpu::SimtDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ditron/targets/gpu/ops/SimtOpsTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ditron/targets/gpu/ops/SimtOps.cpp.inc"
      >();
}

namespace ditron::gpu {

void SimtDialect::addTargets(ArrayRef<const GpuTarget *> targets) {
  for (const GpuTarget *target : targets)
    if (!llvm::is_contained(targets_, target))
      targets_.push_back(target);
}

Value ShiftOp::getViewSource() { return getSource(); }

//===-- What passes of this lowering may say to one another -----------------------------------===//

LogicalResult requireSlots(EmitError emitError, int64_t slots) {
  if (slots < 1)
    return emitError() << "has " << slots << " slots, expected 1 or more";
  return success();
}

LogicalResult requireCoords(Operation *op, TypedValue<MemRefType> view, ValueRange coords) {
  int64_t count = static_cast<int64_t>(coords.size()), rank = view.getType().getRank();
  if (count != rank)
    return op->emitOpError() << "has " << count << " coords but view has " << rank << " dimensions";
  return success();
}

LogicalResult requireTypes(Operation *op, TypeRange found, TypeRange held, StringRef of) {
  if (found.size() != held.size())
    return op->emitOpError() << "has " << found.size() << " values but " << of << " has "
                             << held.size();
  for (auto [one, other] : llvm::zip(found, held))
    if (one != other)
      return op->emitOpError() << "value is " << one << " but " << of << " has " << other;
  return success();
}

static LogicalResult requireOneOf(Operation *op, StringRef what, StringRef found,
                                  ArrayRef<StringRef> expected) {
  if (llvm::is_contained(expected, found))
    return success();
  return op->emitOpError() << what << " is \"" << found << "\", expected one of "
                           << llvm::join(expected, ", ");
}

LogicalResult RingType::verify(EmitError emitError, int64_t slots, RankedTensorType) {
  return requireSlots(emitError, slots);
}

LogicalResult CopyOp::verify() { return requireCoords(*this, getView(), getCoords()); }
LogicalResult PrefetchOp::verify() {
  if (!isa<RankedTensorType>(getTile()))
    return emitOpError() << "expected the type of a tile, found " << getTile();
  return requireCoords(*this, getView(), getCoords());
}
/// The words of a thread's elements of a tile.
static LogicalResult requireWords(Operation *op, Type tile, VectorType words) {
  auto type = dyn_cast<RankedTensorType>(tile);
  if (!type || !type.getEncoding())
    return op->emitOpError() << "expected the type of a tile with a layout, found " << tile;
  int64_t bytes =
      core::layoutOf(type).limit(core::Axis::reg) * core::elementBytes(type.getElementType());
  if (bytes != 4 * words.getNumElements())
    return op->emitOpError() << "has " << words << " of " << bytes << " bytes of a thread";
  return success();
}
LogicalResult FetchOp::verify() {
  if (failed(requireWords(*this, getTile(), cast<VectorType>(getWords().getType()))))
    return failure();
  return requireCoords(*this, getView(), getCoords());
}
LogicalResult PlaceOp::verify() {
  if (failed(requireWords(*this, getFetched(), cast<VectorType>(getWords().getType()))))
    return failure();
  RankedTensorType from = fetchedType(), to = cast<RankedTensorType>(getTile().getType());
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError() << "puts " << from << " into " << to;
  return success();
}
LogicalResult SlotOp::verify() {
  return requireTypes(*this, getTile().getType(), getRing().getType().getTile(), "the ring");
}

LogicalResult WaitOp::verify() { return requireOneOf(*this, "scope", getScope(), {"gpu", "sys"}); }
LogicalResult NotifyOp::verify() {
  if (failed(requireOneOf(*this, "mode", getMode(), {"add", "max"})))
    return failure();
  return requireOneOf(*this, "scope", getScope(), {"gpu", "sys"});
}
LogicalResult RowOp::verify() {
  auto type = cast<MemRefType>(getTable().getType());
  if (type.getRank() != 2 || !type.getElementType().isInteger(64))
    return emitOpError() << "reads " << type << ", expected two dimensions of i64";
  return success();
}
LogicalResult ReceiveAllOp::verify() {
  size_t count = getSlots().size();
  if (count == 0 || getWanted().size() != count || getSites().size() != count ||
      getNumResults() != count)
    return emitOpError() << "has " << count << " slots, " << getWanted().size() << " conditions, "
                         << getSites().size() << " sites and " << getNumResults()
                         << " tiles, expected as many of each, and some";
  return success();
}
OperandRange AwaitElementsOp::coordsOf(size_t tile) {
  ArrayRef<int64_t> counts = getCounts();
  int64_t before = std::accumulate(counts.begin(), counts.begin() + tile, int64_t(0));
  return getCoords().slice(static_cast<size_t>(before), static_cast<size_t>(counts[tile]));
}
LogicalResult AwaitElementsOp::verify() {
  size_t count = getViews().size();
  auto coords = static_cast<int64_t>(getCoords().size());
  if (count == 0 || getCounts().size() != count || getSites().size() != count ||
      getPaddings().size() != count || getNumResults() != count ||
      std::accumulate(getCounts().begin(), getCounts().end(), int64_t(0)) != coords)
    return emitOpError() << "has " << count << " views, " << coords << " coordinates in "
                         << getCounts().size() << " counts, " << getSites().size() << " sites, "
                         << getPaddings().size() << " paddings and " << getNumResults()
                         << " tiles, expected as many of each, and some";
  for (size_t n = 0; n < count; ++n)
    if (failed(requireCoords(*this, cast<TypedValue<MemRefType>>(getViews()[n]), coordsOf(n))))
      return failure();
  return success();
}
LogicalResult ElementOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  if (tile.getNumElements() != 1 || tile.getElementType() != getElement().getType())
    return emitOpError() << "takes " << tile << ", expected a tile of one "
                         << getElement().getType();
  return success();
}
LogicalResult NotifyEachOp::verify() {
  Block &body = getBody().front();
  auto notifies = body.getOps<NotifyOp>();
  bool isOne =
      std::distance(notifies.begin(), notifies.end()) == 1 && (*notifies.begin()).getRelaxed();
  bool isPlain = llvm::all_of(
      body, [](Operation &op) { return isa<NotifyOp>(op) || isMemoryEffectFree(&op); });
  if (body.getNumArguments() != 1 || !body.getArgument(0).getType().isIndex() || !isOne || !isPlain)
    return emitOpError() << "expected a body that takes a number and computes what one relaxed "
                            "simt.notify takes";
  return requireOneOf(*this, "scope", getScope(), {"gpu", "sys"});
}
LogicalResult ReduceTogetherOp::verify() {
  size_t count = getSources().size();
  if (getKinds().size() != count || getAxes().size() != count || getNumResults() != count)
    return emitOpError() << "reduces " << count << " tiles in " << getKinds().size()
                         << " ways along " << getAxes().size() << " axes to " << getNumResults()
                         << " results, expected as many of each";
  for (Attribute kind : getKinds())
    if (!core::symbolizeReduceKind(cast<StringAttr>(kind).getValue()))
      return emitOpError() << "combines by " << kind << ", expected kinds of tile.reduce";
  for (auto [source, result, axis] : llvm::zip(getSources(), getResults(), getAxes())) {
    auto from = cast<RankedTensorType>(source.getType()),
         to = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape(from.getShape());
    if (axis < 0 || axis >= from.getRank())
      return emitOpError() << "along axis " << axis << " of " << from << ", expected 0 to "
                           << from.getRank() - 1;
    shape[static_cast<size_t>(axis)] = 1;
    if (to.getShape() != ArrayRef(shape) || to.getElementType() != from.getElementType())
      return emitOpError() << "gives " << to << " of " << from << " along axis " << axis;
  }
  return success();
}
LogicalResult SyncOp::verify() {
  return requireOneOf(*this, "scope", getScope(), {"cta", "gpu", "sys"});
}

} // namespace ditron::gpu
