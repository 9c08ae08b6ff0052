// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-check-supported: an op that this backend has no lowering for is refused at the line of the
// program that asks for it, before anything is lowered. docs/nvidia.md lists what is.
#include "ditron/device/DistOps.h"
#include "ditron/device/Scope.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/nvidia/transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_CHECKSUPPORTED
#include "ditron/targets/nvidia/transforms/Passes.h.inc"

namespace {

/// Why an op cannot be lowered; empty if it can.
std::string reasonAgainst(Operation *op) {
  if (std::optional<std::string> form = device::formOutsideLanguage(op))
    return *form + " is a form for programs to be checked; expected counters that only grow, with "
                   "the order that the compiler picks";
  if (auto role = dyn_cast<device::RoleOp>(op); role && role.getEngine() != device::Engine::core)
    return "it runs on engine " + device::stringifyEngine(role.getEngine()).str() +
           ", expected core";
  if (isa<core::ScatterOp>(op))
    return "rows are scattered on backend 'cpu' only";
  if (auto dot = dyn_cast<core::DotOp>(op); dot && tileOf(dot.getAcc()).getRank() != 2)
    return "products of tiles with batch dimensions run on backend 'cpu'; expected 2 dimensions";
  if (op->getName().getDialectNamespace() == "tensor" && !isa<tensor::SplatOp>(op))
    return "elements of tiles are reached by tile ops only";
  return "";
}

class CheckSupported : public impl::CheckSupportedBase<CheckSupported> {
  void runOnOperation() override {
    bool isRefused = false;
    getOperation().walk([&](Operation *op) {
      std::string reason = reasonAgainst(op);
      if (reason.empty() || isRefused)
        return;
      op->emitError() << op->getName() << " has no lowering to NVIDIA GPUs: " << reason;
      isRefused = true;
    });
    if (isRefused)
      signalPassFailure();
  }
};

} // namespace
} // namespace ditron::nvidia
