// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FusePutNotify: a put and the notify behind it become one operation.
//
//     dist.put %mine, %full on %peer
//     dist.notify %ready[%i] on %peer add %one
//  ->
//     dist.put_notify %mine, %full, %ready[%i] on %peer add %one
//
// Links that deliver a signal with the data save a fence and a message. Both must go to the same
// peer, with nothing between them that touches memory. test/device/fuse-put-notify.mlir shows it.
//
#include "ditron/device/Scope.h"
#include "ditron/device/transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ditron::device {
#define GEN_PASS_DEF_FUSEPUTNOTIFY
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron::device;

namespace {

/// The put before `notify` with nothing but computation and checks between.
PutOp putBefore(NotifyOp notify) {
  Operation *previous = notify->getPrevNode();
  while (previous && (isMemoryEffectFree(previous) || isa<ditron::core::RequireOp>(previous)))
    previous = previous->getPrevNode();
  return dyn_cast_or_null<PutOp>(previous);
}

bool haveSamePeer(PutOp put, NotifyOp notify) {
  APInt one, other;
  return put.getPeer() == notify.getPeer() ||
         (notify.getPeer() && matchPattern(put.getPeer(), m_ConstantInt(&one)) &&
          matchPattern(notify.getPeer(), m_ConstantInt(&other)) && one == other);
}

struct FusePutNotify : ditron::device::impl::FusePutNotifyBase<FusePutNotify> {
  void runOnOperation() override {
    getOperation().walk([](NotifyOp notify) {
      PutOp put = putBefore(notify);
      if (!put || !haveSamePeer(put, notify) || formOutsideLanguage(notify))
        return;
      OpBuilder builder(notify);
      builder.create<PutNotifyOp>(builder.getFusedLoc({put.getLoc(), notify.getLoc()}),
                                  put.getSource(), put.getDestination(), notify.getSignals(),
                                  notify.getIndices(), notify.getPeer(), notify.getMode(),
                                  notify.getValue());
      notify.erase();
      put.erase();
    });
  }
};

} // namespace
