// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-dependent-launch: programmatic dependent launch (PDL). A launch of a warp-specialised
// kernel begins while the last CTAs of the one before it run. It waits for that one where it first
// touches memory, when its barriers are made and its code is loaded.
//
//   %pipe = nvidia.pipe : ...
//   nvidia.roles producer { ... } consumer { ... }
// becomes
//   %pipe = nvidia.pipe : ...
//   nvidia.grid_dependency_wait
//   nvidia.roles producer { ... } consumer { ... }
//
// Kernels of several ranks are not among them: while one waits for a peer's, which may be launched
// on the same GPU, the next would take the place of that. They let nobody begin before they end.
// test/targets/nvidia/dependent-launch.mlir shows it.
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/nvidia/Chip.h"
#include "ditron/targets/nvidia/analysis/TensorCores.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "ditron/targets/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_DEPENDENTLAUNCH
#include "ditron/targets/nvidia/transforms/Passes.h.inc"

namespace {

/// Whether an op touches no memory but that of its CTA.
bool isOfCore(Operation &op) {
  return isa<PipeOp, QueueOp, GateOp, RingOp>(op) || isMemoryEffectFree(&op);
}

class DependentLaunch : public impl::DependentLaunchBase<DependentLaunch> {
public:
  using DependentLaunchBase::DependentLaunchBase;

private:
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    const Chip *chip = chipNamed(chipName, function);
    if (!chip)
      return signalPassFailure();
    if (!chip->hasDependentLaunch || function.getOps<RolesOp>().empty() ||
        function->hasAttr(kDistributedAttr) || isRegion(function))
      return;
    Block &body = function.front();
    Operation &first =
        *llvm::find_if(body.without_terminator(), [](Operation &op) { return !isOfCore(op); });
    OpBuilder(&first).create<GridDependencyWaitOp>(function.getLoc());
    function->setAttr(kDependentLaunchAttr, UnitAttr::get(&getContext()));
  }
};

} // namespace
} // namespace ditron::nvidia
