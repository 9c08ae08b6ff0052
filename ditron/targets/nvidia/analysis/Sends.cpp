// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/analysis/Sends.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace ditron::nvidia {

bool mayEndEarly(func::FuncOp function, Operation *first) {
  for (Operation *op = first; op; op = op->getNextNode())
    if (op->walk([](LLVM::InlineAsmOp) { return WalkResult::interrupt(); }).wasInterrupted())
      return true;
  return gpu::isRegion(function);
}

Operation *sendsAhead(func::FuncOp function, Operation *first) {
  bool sends = false;
  WalkResult result = first->walk([&](Operation *op) {
    auto move = dyn_cast<gpu::MoveOp>(op);
    auto notify = dyn_cast<gpu::NotifyOp>(op);
    bool isSend = move && !move.getComplete() && gpu::isReadOnly(move.getSource()) &&
                  gpu::isOnPeer(move.getDestination());
    sends |= isSend;
    bool isKnown = isSend || (notify && notify.getMode() == "add") || isa<gpu::NotifyEachOp>(op) ||
                   op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(op) ||
                   op->hasTrait<OpTrait::IsTerminator>();
    return isKnown ? WalkResult::advance() : WalkResult::interrupt();
  });
  bool isAlone = !result.wasInterrupted() && sends && first->getNumResults() == 0;
  return isAlone && !mayEndEarly(function, first) ? first : nullptr;
}

} // namespace ditron::nvidia
