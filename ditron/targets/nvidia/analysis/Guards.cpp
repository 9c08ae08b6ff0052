// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/analysis/Guards.h"
#include "ditron/device/ProgramOrder.h"

using namespace mlir;

namespace ditron::nvidia {

bool Guards::precedesLoad(Operation *op) const {
  return llvm::any_of(loads_, [&](Operation *load) { return device::mayPrecede(op, load); });
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
