// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "ditron/targets/nvidia/ops/NvidiaOpsDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ditron/targets/nvidia/ops/NvidiaOpsTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ditron/targets/nvidia/ops/NvidiaOps.cpp.inc"

void ditron::nvidia::NvidiaDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ditron/targets/nvidia/ops/NvidiaOpsTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ditron/targets/nvidia/ops/NvidiaOps.cpp.inc"
      >();
}

namespace ditron::nvidia {

Value ShiftOp::getViewSource() { return getSource(); }

//===-- What passes of this backend may say to one another ------------------------------------===//

namespace {

using Emit = llvm::function_ref<InFlightDiagnostic()>;

LogicalResult requireSlots(Emit emitError, int64_t slots) {
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

/// What comes out of a container is what lies in it.
LogicalResult requireTypes(Operation *op, TypeRange found, TypeRange held, StringRef of) {
  if (found.size() != held.size())
    return op->emitOpError() << "has " << found.size() << " values but " << of << " has "
                             << held.size();
  for (auto [one, other] : llvm::zip(found, held))
    if (one != other)
      return op->emitOpError() << "value is " << one << " but " << of << " has " << other;
  return success();
}

LogicalResult requireOneOf(Operation *op, StringRef what, StringRef found,
                           ArrayRef<StringRef> expected) {
  if (llvm::is_contained(expected, found))
    return success();
  return op->emitOpError() << what << " is \"" << found << "\", expected one of "
                           << llvm::join(expected, ", ");
}

/// The right side may be wider than the accumulator: panels are filled up. A left side in registers
/// is packed, two terms a word.
template <class Op> LogicalResult verifyProduct(Op op) {
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType(),
                   acc = op.getAcc().getType();
  if (lhs.getRank() != 2 || rhs.getRank() != 2 || acc.getRank() != 2)
    return op.emitOpError() << "multiplies " << lhs << " and " << rhs << " into " << acc
                            << ", expected 2 dimensions";
  int64_t packed = lhs.getElementType() != rhs.getElementType() ? 2 : 1;
  if (lhs.getDimSize(1) * packed != rhs.getDimSize(0))
    return op.emitOpError() << "lhs has " << lhs.getDimSize(1) * packed << " columns but rhs has "
                            << rhs.getDimSize(0) << " rows";
  if (acc.getDimSize(0) != lhs.getDimSize(0) || acc.getDimSize(1) > rhs.getDimSize(1))
    return op.emitOpError() << "acc is " << acc << " but the product is " << lhs.getDimSize(0)
                            << "x" << rhs.getDimSize(1);
  return success();
}

} // namespace

LogicalResult RingType::verify(Emit emitError, int64_t slots, RankedTensorType) {
  return requireSlots(emitError, slots);
}

LogicalResult PipeType::verify(Emit emitError, int64_t slots, ArrayRef<RankedTensorType> tiles,
                               int64_t members) {
  if (tiles.empty() || members < 1)
    return emitError() << "has " << tiles.size() << " tiles for " << members
                       << " cores, expected 1 or more of each";
  return requireSlots(emitError, slots);
}

LogicalResult MailboxType::verify(Emit emitError, int64_t slots, ArrayRef<Type> numbers) {
  if (slots < 1 || !llvm::isPowerOf2_64(static_cast<uint64_t>(slots)))
    return emitError() << "has " << slots << " slots, expected a power of two";
  for (Type number : numbers)
    if (!number.isIntOrIndex())
      return emitError() << "holds " << number << ", expected integers and index";
  return success();
}

LogicalResult CopyOp::verify() { return requireCoords(*this, getView(), getCoords()); }
LogicalResult DeliverOp::verify() { return requireCoords(*this, getView(), getCoords()); }
LogicalResult SlotOp::verify() {
  return requireTypes(*this, getTile().getType(), getRing().getType().getTile(), "the ring");
}

LogicalResult FetchOp::verify() {
  ArrayRef<RankedTensorType> tiles = getPipe().getType().getTiles();
  if (getTile() >= tiles.size())
    return emitOpError() << "tile is " << getTile() << ", expected 0 to " << tiles.size() - 1;
  return requireCoords(*this, getView(), getCoords());
}

LogicalResult ReceiveOp::verify() {
  SmallVector<Type> tiles(getPipe().getType().getTiles());
  return requireTypes(*this, getResultTypes(), tiles, "the pipe");
}

LogicalResult MultiplyOp::verify() { return verifyProduct(*this); }
LogicalResult MultiplyAddOp::verify() {
  int64_t columns = static_cast<int64_t>(getColumns());
  if (columns < 8 || columns % 8 != 0)
    return emitOpError() << "has parts of " << columns << " columns, expected a multiple of 8";
  return verifyProduct(*this);
}
LogicalResult SettleOp::verify() {
  return requireTypes(*this, getResultTypes(), getValues().getTypes(), "the list of products");
}

LogicalResult TellOp::verify() {
  return requireTypes(*this, getNumbers().getTypes(), getMailbox().getType().getNumbers(),
                      "the mailbox");
}
LogicalResult HearOp::verify() {
  return requireTypes(*this, getResultTypes(), getMailbox().getType().getNumbers(), "the mailbox");
}

LogicalResult WaitOp::verify() { return requireOneOf(*this, "scope", getScope(), {"gpu", "sys"}); }
LogicalResult NotifyOp::verify() {
  if (failed(requireOneOf(*this, "mode", getMode(), {"add", "max"})))
    return failure();
  return requireOneOf(*this, "scope", getScope(), {"gpu", "sys"});
}
LogicalResult SyncOp::verify() {
  return requireOneOf(*this, "scope", getScope(), {"cta", "gpu", "sys"});
}

} // namespace ditron::nvidia
