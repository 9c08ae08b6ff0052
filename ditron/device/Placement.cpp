// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/Placement.h"
#include "ditron/core/transforms/Passes.h"
#include "ditron/device/transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace ditron::device {

/// The passes look extents up by their numbers.
static LogicalResult checkDimensions(func::FuncOp kernel) {
  WalkResult result = kernel.walk([](memref::DimOp dim) {
    std::optional<int64_t> number = dim.getConstantIndex();
    auto type = dyn_cast<MemRefType>(dim.getSource().getType());
    if (!number || !type || (*number >= 0 && *number < type.getRank()))
      return WalkResult::advance();
    dim.emitOpError() << "asks for dimension " << *number << " of a view of " << type.getRank()
                      << " dimensions";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult lowerPlacements(ModuleOp module) {
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!isPlaced(kernel))
      continue;
    if (failed(checkDimensions(kernel)))
      return failure();
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
