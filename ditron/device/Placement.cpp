// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/Placement.h"
#include "ditron/core/transforms/Passes.h"
#include "ditron/device/transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace ditron::device {

LogicalResult lowerPlacements(ModuleOp module) {
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!isPlaced(kernel))
      continue;
    PassManager passes(module.getContext(), func::FuncOp::getOperationName());
    passes.addPass(core::createPromoteVars());
    passes.addPass(core::createFuseDot());
    passes.addPass(createPlaceExchanges());
    passes.addPass(createPlaceArguments());
    passes.addPass(createPlaceResults());
    if (failed(passes.run(kernel)))
      return failure();
  }
  return success();
}

} // namespace ditron::device
