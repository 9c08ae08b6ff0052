// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/warpspec/DeferNotifies.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/nvidia/analysis/TensorViews.h"
#include "ditron/targets/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {

static bool canDefer(Operation *op) {
  auto notify = dyn_cast<NotifyOp>(op);
  return notify && !notify.getRelaxed() && notify.getMode() == "add";
}

/// Whether an op lets others see what the consumer has done.
static bool releases(Operation *op) { return needsCompleteStores(op) && !isa<MoveOp>(op); }

int64_t outboxBytes(func::FuncOp function, Operation *first) {
  constexpr int64_t kOutbox = 1024; // as pieces of shared memory are rounded
  bool hasSome = false, mayLeave = false;
  for (Operation *op = first; op; op = op->getNextNode())
    op->walk([&](Operation *inner) {
      hasSome |= canDefer(inner);
      mayLeave |= isa<LLVM::InlineAsmOp>(inner);
    });
  return hasSome && !mayLeave && !isRegion(function) ? kOutbox : 0;
}

void deferNotifies(RolesOp roles, ImplicitLocOpBuilder &b) {
  Value outbox = b.create<OutboxOp>(OutboxType::get(b.getContext()));
  SmallVector<NotifyOp> notifies;
  SmallVector<Operation *> others;
  roles.getConsumer().walk([&](Operation *op) {
    if (canDefer(op))
      notifies.push_back(cast<NotifyOp>(op));
    else if (releases(op))
      others.push_back(op);
  });
  StringRef scope = "gpu";
  for (NotifyOp notify : notifies) {
    if (notify.getScope() == "sys")
      scope = "sys";
    OpBuilder(notify).create<PostOp>(notify.getLoc(), outbox, notify.getCell(), notify.getValue());
    notify.erase();
  }
  for (Operation *op : others)
    OpBuilder(op).create<FlushOp>(op->getLoc(), outbox);
  auto end = OpBuilder::atBlockEnd(&roles.getConsumer().front());
  end.create<CloseOp>(roles.getLoc(), outbox);
  auto notifier = OpBuilder::atBlockEnd(&roles.getNotifier().emplaceBlock());
  notifier.create<NotifyPostsOp>(roles.getLoc(), outbox, scope);
}

} // namespace ditron::nvidia
