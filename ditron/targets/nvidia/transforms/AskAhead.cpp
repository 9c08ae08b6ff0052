// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/transforms/AskAhead.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/ConstantLoads.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::nvidia {

/// Whether an op touches no memory but that of its CTA, and none that other launches write. The launch's
/// number is one that the launch before changes.
static bool isOfCore(Operation &op) {
  return isa<PipeOp, PrefetchMapsOp, QueueOp, GateOp, RingOp, AheadOp, ClusterBoxOp,
             GridDependencyReleaseOp>(op) ||
         (isMemoryEffectFree(&op) && !isa<gpu::EpochOp>(op));
}

Operation *firstAccess(Block &body) {
  auto found =
      llvm::find_if(body.without_terminator(), [](Operation &op) { return !isOfCore(op); });
  return &*found;
}

static bool isLikelyThere(Value view) { return gpu::isConstant(view) || gpu::isLasting(view); }

bool askAhead(OpBuilder b, Operation *wait, const Chip &chip) {
  constexpr int64_t kBytesOfSm = 64 * 1024;
  Location loc = wait->getLoc();
  int64_t ctas = gpu::ctasPerSmOf(wait->getParentOfType<func::FuncOp>());
  Value cta = b.create<NVVM::BlockIdXOp>(loc, b.getI32Type());
  Value most = b.create<arith::ConstantIntOp>(loc, chip.sms * ctas, 32);
  Value isOfFirstWave = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, cta, most);
  auto branch = b.create<scf::IfOp>(loc, isOfFirstWave);
  if (gpu::ConstantLoads{isLikelyThere, gpu::isConstant, kBytesOfSm / ctas}.ask(
          branch.getThenBodyBuilder(), wait))
    return true;
  for (Operation *op : {branch.getOperation(), isOfFirstWave.getDefiningOp(), most.getDefiningOp(),
                        cta.getDefiningOp()})
    op->erase();
  return false;
}

} // namespace ditron::nvidia
