// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "ditron/targets/nvidia/analysis/Fragments.h"
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

//===-- Verifiers -----------------------------------------------------------------------------===//

namespace {

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

LogicalResult PipeType::verify(EmitError emitError, int64_t slots, ArrayRef<RankedTensorType> tiles,
                               int64_t ctas) {
  if (tiles.empty() || ctas < 1)
    return emitError() << "has " << tiles.size() << " tiles for " << ctas
                       << " CTAs, expected 1 or more of each";
  return requireSlots(emitError, slots);
}

LogicalResult QueueType::verify(EmitError emitError, int64_t slots, ArrayRef<Type> numbers) {
  if (slots < 1 || !llvm::isPowerOf2_64(static_cast<uint64_t>(slots)))
    return emitError() << "has " << slots << " slots, expected a power of two";
  for (Type number : numbers)
    if (!number.isIntOrIndex())
      return emitError() << "holds " << number << ", expected integers and index";
  return success();
}

LogicalResult TmaStoreOp::verify() { return requireCoords(*this, getView(), getCoords()); }

LogicalResult PipeOp::verify() {
  if (!getRows().empty() && getRows().size() != getType().getTiles().size())
    return emitOpError() << "has rows of " << getRows().size() << " tiles, expected none or "
                         << getType().getTiles().size();
  return success();
}

LogicalResult TmaLoadOp::verify() {
  ArrayRef<RankedTensorType> tiles = getPipe().getType().getTiles();
  if (getTile() >= tiles.size())
    return emitOpError() << "tile is " << getTile() << ", expected 0 to " << tiles.size() - 1;
  if (!getRows() != !getPartMap())
    return emitOpError("has rows or a map of their boxes, expected both or none");
  int64_t height = tiles[getTile()].getDimSize(0);
  if (getRows() && height % kPartRows != 0)
    return emitOpError() << "has boxes for a tile of " << height << " rows, expected a multiple of "
                         << kPartRows;
  return requireCoords(*this, getView(), getCoords());
}

LogicalResult ClusterSumOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  if (!tile.getElementType().isF32())
    return emitOpError() << "adds tiles of " << tile.getElementType() << ", expected f32";
  if (getCtas() < 2 || !llvm::isPowerOf2_64(getCtas()))
    return emitOpError() << "is of " << getCtas() << " CTAs, expected a power of two above 1";
  return success();
}

LogicalResult LoadPackedOp::verify() { return requireCoords(*this, getView(), getCoords()); }
LogicalResult ReceivePackedOp::verify() { return requireCoords(*this, getView(), getCoords()); }

LogicalResult LoadRowsOp::verify() {
  int64_t slots = getPipe().getType().getSlots(), ahead = static_cast<int64_t>(getAhead());
  if (ahead < 1 || ahead > slots)
    return emitOpError() << "is " << ahead << " slots ahead, expected 1 to " << slots;
  return requireCoords(*this, getView(), getCoords());
}
LogicalResult AskRowsOp::verify() { return requireCoords(*this, getView(), getCoords()); }
LogicalResult ReceiveRowsOp::verify() { return requireCoords(*this, getView(), getCoords()); }

LogicalResult ReceiveOp::verify() {
  SmallVector<Type> tiles(getPipe().getType().getTiles());
  return requireTypes(*this, getResultTypes(), tiles, "the pipe");
}

LogicalResult SlicedDotOp::verify() {
  RankedTensorType weights = getWeights().getType(), factor = getFactor().getType(),
                   acc = getAcc().getType();
  if (weights.getRank() != 2 || factor.getRank() != 2 || acc.getRank() != 3)
    return emitOpError() << "multiplies " << weights << " and " << factor << " into " << acc
                         << ", expected 2, 2 and 3 dimensions";
  Type element = weights.getElementType();
  if (!(element.isBF16() || element.isF16()) || factor.getElementType() != element ||
      !acc.getElementType().isF32())
    return emitOpError() << "multiplies " << weights << " and " << factor << " into " << acc
                         << ", expected bf16 or f16 on both sides, and f32";
  int64_t n = weights.getDimSize(0), m = factor.getDimSize(0), k = weights.getDimSize(1);
  if (factor.getDimSize(1) != k || acc.getDimSize(1) != n || acc.getDimSize(2) != m)
    return emitOpError() << "has sums " << acc << " of " << n << " by " << m << " rows of " << k
                         << " and " << factor.getDimSize(1) << " terms";
  int64_t slices = acc.getDimSize(0);
  SlicedShape one{n, m, k, slices, 1, getTransposed()};
  if (m > 8 || !llvm::isPowerOf2_64(static_cast<uint64_t>(m)) || !one.isEven())
    return emitOpError() << "multiplies " << n << " by " << m << " rows of " << k << " terms in "
                         << slices << " slices, expected a multiple of " << one.rowsAtOnce()
                         << ", 1, 2, 4 or 8, and a multiple of " << one.termsAtOnce()
                         << " terms a slice";
  if (slices > kSlicingWarps && (slices % kSlicingWarps != 0 || getTransposed()))
    return emitOpError() << "has " << slices << " slices"
                         << (getTransposed() ? " of transposed weights, expected at most "
                                             : ", expected at most, or a multiple of, ")
                         << kSlicingWarps;
  return success();
}

LogicalResult WgmmaOp::verify() { return verifyProduct(*this); }
LogicalResult WgmmaPromoteOp::verify() {
  int64_t columns = static_cast<int64_t>(getColumns());
  if (columns < 8 || columns % 8 != 0)
    return emitOpError() << "has parts of " << columns << " columns, expected a multiple of 8";
  return verifyProduct(*this);
}
LogicalResult WgmmaWaitOp::verify() {
  return requireTypes(*this, getResultTypes(), getValues().getTypes(), "the list of products");
}

LogicalResult EnqueueOp::verify() {
  return requireTypes(*this, getNumbers().getTypes(), getQueue().getType().getNumbers(),
                      "the queue");
}
LogicalResult DequeueOp::verify() {
  return requireTypes(*this, getResultTypes(), getQueue().getType().getNumbers(), "the queue");
}

} // namespace ditron::nvidia
