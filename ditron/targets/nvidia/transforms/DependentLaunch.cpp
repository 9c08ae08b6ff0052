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
// While a kernel of several ranks waits for a peer's, which may be launched on the same GPU, the next
// launch would take the place of that. So it lets nobody begin before its CTAs have waited for the
// last time: where simt.end stands, or simt.close.
//
//   simt.end(...)
// becomes
//   nvidia.grid_dependency_release
//   simt.end(...)
//
// A rank has then one launch at most whose CTAs may wait for others, and room for one of each rank
// is there. An end that waits for copy engines of other ranks is no such place: those kernels let
// nobody begin.
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

/// Whether an op touches no memory but that of its CTA. The launch's number is one that the launch
/// before changes.
bool isOfCore(Operation &op) {
  return isa<PipeOp, QueueOp, GateOp, RingOp>(op) || (isMemoryEffectFree(&op) && !isa<EpochOp>(op));
}

/// Lets the next launch begin where the kernel ends; false where that waits, or is not found.
bool releaseAtEnd(func::FuncOp function) {
  Operation *last = nullptr;
  function.walk([&](Operation *op) {
    auto end = dyn_cast<EndOp>(op);
    if ((end && !end.getCopies()) || isa<gpu::CloseOp>(op))
      last = op;
  });
  if (last)
    OpBuilder(last).create<GridDependencyReleaseOp>(last->getLoc());
  return last != nullptr;
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
    if (!chip->hasDependentLaunch || function.getOps<RolesOp>().empty() || isRegion(function))
      return;
    bool isDistributed = function->hasAttr(kDistributedAttr);
    if (isDistributed && !releaseAtEnd(function))
      return;
    Block &body = function.front();
    Operation &first =
        *llvm::find_if(body.without_terminator(), [](Operation &op) { return !isOfCore(op); });
    OpBuilder(&first).create<GridDependencyWaitOp>(function.getLoc(), /*only=*/isDistributed);
    function->setAttr(kDependentLaunchAttr, UnitAttr::get(&getContext()));
  }
};

} // namespace
} // namespace ditron::nvidia
