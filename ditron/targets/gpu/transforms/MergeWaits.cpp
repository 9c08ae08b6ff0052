// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-merge-waits: counters that a loop waits for, one after the other, are polled side by side.
//
//   scf.for %w = %first to %end step %c1 {
//     %core = memref.load %waits[%w, %c0]
//     %cell = ... of %core
//     simt.wait %cell for %n
//   }
// becomes
//   simt.wait_each %first to %end {
//   ^bb0(%w: index):
//     %core = memref.load %waits[%w, %c0]
//     %cell = ... of %core
//     simt.awaited %cell for %n
//   }
//
// A poll takes as long as a load from memory, and a task of a graph may wait for each core. The order
// is of no meaning: all counters only grow. In kernels with a schedule (dist.exact_cores) alone, whose
// waits are for several tasks; others wait for what arrives in turn, and use it in turn.
// test/targets/gpu/merge-waits.mlir shows it.
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_MERGEWAITS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// The wait that a loop ends with, where nothing else in it has an effect; else null.
WaitOp onlyWaitOf(scf::ForOp loop) {
  if (loop.getNumResults() > 0 || getConstantIntValue(loop.getStep()) != 1)
    return nullptr;
  WaitOp wait;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (wait)
      return nullptr;
    wait = dyn_cast<WaitOp>(op);
    if (!wait && !isMemoryEffectFree(&op) && !hasSingleEffect<MemoryEffects::Read>(&op))
      return nullptr;
  }
  return wait;
}

void merge(scf::ForOp loop) {
  WaitOp wait = onlyWaitOf(loop);
  if (!wait)
    return;
  OpBuilder b(loop);
  auto each = b.create<WaitEachOp>(wait.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                                   wait.getSite(), wait.getScope(), wait.getLaunch());
  b.setInsertionPoint(wait);
  b.create<AwaitedOp>(wait.getLoc(), wait.getCell(), wait.getValue());
  wait.erase();
  loop.getBody()->getTerminator()->erase();
  each.getBody().takeBody(loop.getRegion());
  loop.erase();
}

class MergeWaits : public impl::MergeWaitsBase<MergeWaits> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(device::kExactCoresAttr))
      return;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    llvm::for_each(loops, merge);
  }
};

} // namespace
} // namespace ditron::gpu
