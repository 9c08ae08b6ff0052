// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/ProgramOrder.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace ditron::device {

/// The innermost block around both ops, as the op of it that `op` is or is in.
static Operation *inCommonBlock(Operation *op, Operation *other) {
  for (Operation *place = op; place; place = place->getParentOp())
    if (place->getBlock() && place->getBlock()->findAncestorOpInBlock(*other))
      return place;
  return nullptr;
}

bool mayPrecede(Operation *first, Operation *second) {
  for (Operation *loop = first->getParentOp(); loop; loop = loop->getParentOp())
    if (isa<LoopLikeOpInterface>(loop) && loop->isProperAncestor(second))
      return true;
  Operation *place = inCommonBlock(first, second);
  if (!place)
    return false;
  Operation *other = place->getBlock()->findAncestorOpInBlock(*second);
  return place != other && place->isBeforeInBlock(other);
}

} // namespace ditron::device
