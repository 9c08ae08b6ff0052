// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/Scope.h"
#include "ditron/device/Provenance.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::device {

static bool isRemote(Value signals) { return cast<SignalsType>(signals.getType()).getRemote(); }

/// Whether signals of this rank may be notified by a peer: their peers' are named somewhere, or
/// they come from where that cannot be seen.
static bool haveRemoteNotifier(Value signals) {
  return !signals.getDefiningOp<SignalsOp>() ||
         llvm::any_of(signals.getUsers(),
                      [](Operation *user) { return !isa<NotifyOp, WaitOp>(user); });
}

Scope scopeOf(Operation *op) {
  auto notified = [](Value signals) { return isRemote(signals) ? Scope::network : Scope::device; };
  return llvm::TypeSwitch<Operation *, Scope>(op)
      .Case([&](NotifyOp notify) {
        return notify.getScope().value_or(notified(notify.getSignals()));
      })
      .Case([&](PutNotifyOp put) { return notified(put.getSignals()); })
      .Case([](WaitOp wait) {
        bool remote = haveRemoteNotifier(wait.getSignals());
        return wait.getScope().value_or(remote ? Scope::network : Scope::device);
      })
      .Case([](FenceOp fence) { return fence.getScope().value_or(Scope::network); })
      .Default([](Operation *) { return Scope::network; });
}

std::optional<std::string> formOutsideLanguage(Operation *op) {
  auto form = [&](StringRef word) {
    return (op->getName().getStringRef() + " '" + word + "'").str();
  };
  auto notify = dyn_cast<NotifyOp>(op);
  if (notify && notify.getMode() != NotifyMode::add && notify.getMode() != NotifyMode::set)
    return form(stringifyNotifyMode(notify.getMode()));
  auto wait = dyn_cast<WaitOp>(op);
  if (wait && wait.getTest() != WaitTest::atLeast)
    return form(stringifyWaitTest(wait.getTest()));
  if (wait && wait.getTake())
    return form("take");
  if ((notify && notify.getRelaxed()) || (wait && wait.getRelaxed()))
    return form("relaxed");
  auto fence = dyn_cast<FenceOp>(op);
  if ((notify && notify.getScope()) || (wait && wait.getScope()) || (fence && fence.getScope()))
    return form("scope");
  return std::nullopt;
}

} // namespace ditron::device
