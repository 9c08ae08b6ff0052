// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/analysis/Guards.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace ditron::nvidia {

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

bool Guards::precedesLoad(Operation *op) const {
  return llvm::any_of(loads_, [&](Operation *load) { return mayPrecede(op, load); });
}

SmallVector<WaitOp> Guards::waits() const {
  SmallVector<WaitOp> result;
  func::FuncOp(function_).walk([&](WaitOp wait) {
    if (precedesLoad(wait))
      result.push_back(wait);
  });
  return result;
}

llvm::SetVector<Operation *> Guards::gates(ArrayRef<Operation *> writers) const {
  llvm::SetVector<Operation *> result;
  for (Operation *writer : writers) {
    if (!precedesLoad(writer))
      continue;
    // The innermost block that has a load beside the writer.
    for (Operation *place = writer; place; place = place->getParentOp())
      if (place->getBlock() && llvm::any_of(loads_, [&](Operation *load) {
            return place->getBlock()->findAncestorOpInBlock(*load) != nullptr;
          })) {
        result.insert(place);
        break;
      }
  }
  return result;
}

} // namespace ditron::nvidia
