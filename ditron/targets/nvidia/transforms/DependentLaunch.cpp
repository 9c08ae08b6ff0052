// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-dependent-launch: programmatic dependent launch (PDL). A launch begins while the one before
// it runs, and waits for that where it first touches memory: its CTAs are there, its barriers are made
// and its code is loaded.
//
//   scf.if %exists { %x = tile.load ... }
// becomes
//   nvidia.grid_dependency_release
//   nvidia.grid_dependency_wait only
//   scf.if %exists { %x = tile.load ... }
//
// The next launch may begin as soon as all CTAs of this one have a place. All threads wait, in every
// CTA, so a launch ends after those before it, and the next one need not wait for these. Each kernel
// of one rank does so, but for one that has loads placed anywhere (LoadPlaces.h): what they read may
// be written during the launch then, by those before it. Roles and regions have no such loads.
//
// Meanwhile it asks for the first part of what it reads of constants of its graph and of caches: AskAhead.h.
//
// With roles, CTAs fill their SMs:
//
//   %pipe = nvidia.pipe : ...
//   nvidia.roles producer { ... } consumer { ... }
// becomes
//   %pipe = nvidia.pipe : ...
//   nvidia.grid_dependency_wait
//   nvidia.roles producer { ... } consumer { ... }
//
// What the producer does ahead, it does in front of the wait.
//
// So does a kernel of several ranks in a graph that each of them launches as a whole, on a GPU of its own.
// Else a peer's kernel that it waits for may be launched behind the next launch: on the same GPU that would
// take the place of it, and on other ones the host did not come to it (docs/rationale/dependent-launches.md).
// So a kernel lets nobody begin before its CTAs have waited for the last time: where simt.end stands, or
// simt.close.
//
//   simt.end(...)
// becomes
//   nvidia.grid_dependency_release
//   simt.end(...)
//
// A rank has then one launch at most whose CTAs may wait for others, and room for one of each rank
// is there. Without roles, such kernels let nobody begin. Neither do those whose end waits for copy
// engines of other ranks, wherever they run.
// test/targets/nvidia/dependent-launch.mlir shows it.
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/LoadPlaces.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/nvidia/Chip.h"
#include "ditron/targets/nvidia/analysis/TensorCores.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "ditron/targets/nvidia/transforms/AskAhead.h"
#include "ditron/targets/nvidia/transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_DEPENDENTLAUNCH
#include "ditron/targets/nvidia/transforms/Passes.h.inc"

namespace {

/// Where a kernel of several ranks has waited for its peers for the last time; null where its end waits for copy
/// engines, or is not found.
Operation *endOf(func::FuncOp function) {
  Operation *last = nullptr;
  function.walk([&](Operation *op) {
    auto end = dyn_cast<EndOp>(op);
    if ((end && !end.getCopies()) || isa<gpu::CloseOp>(op))
      last = op;
  });
  return last;
}

/// Whether the assembler may place loads: perhaps in front of any wait.
bool hasFreeLoads(func::FuncOp function) {
  auto isFree = [](core::LoadOp load) {
    return placeOf(load) == Instructions::Place::anywhere ? WalkResult::interrupt()
                                                          : WalkResult::advance();
  };
  return function.walk(isFree).wasInterrupted();
}

/// Marks the arguments with numbers that are read in front of the wait.
void markReads(GridDependencyWaitOp wait) {
  auto function = wait->getParentOfType<func::FuncOp>();
  for (Operation &op : llvm::make_range(wait->getBlock()->begin(), wait->getIterator()))
    op.walk([&](memref::LoadOp load) {
      if (BlockArgument argument = gpu::rootOf(load.getMemRef()))
        function.setArgAttr(argument.getArgNumber(), gpu::kReadAheadAttr,
                            UnitAttr::get(load.getContext()));
    });
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
    if (!chip->hasDependentLaunch || function.isExternal() || isRegion(function))
      return;
    bool isDistributed = function->hasAttr(kDistributedAttr), mayShare = isDistributed && !inGraph;
    bool hasRoles = !function.getOps<RolesOp>().empty();
    Operation *end = isDistributed ? endOf(function) : nullptr;
    if ((isDistributed && !end) || (!hasRoles && (mayShare || hasFreeLoads(function))))
      return;
    if (mayShare)
      OpBuilder(end).create<GridDependencyReleaseOp>(end->getLoc());
    Block &body = function.front();
    if (!hasRoles)
      OpBuilder::atBlockBegin(&body).create<GridDependencyReleaseOp>(function.getLoc());
    auto wait = OpBuilder(firstAccess(body))
                    .create<GridDependencyWaitOp>(function.getLoc(), mayShare || !hasRoles);
    if (!hasRoles)
      askAhead(OpBuilder(wait), wait, *chip);
    markReads(wait);
    function->setAttr(kDependentLaunchAttr, UnitAttr::get(&getContext()));
  }
};

} // namespace
} // namespace ditron::nvidia
