// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/Scope.h"

using namespace mlir;

namespace ditron::device {

/// Whether signals of this rank may be notified by a peer: a verb names one, or they come from
/// where that cannot be seen.
static bool haveRemoteNotifier(Value signals) {
  auto isDeclared = [&] { // or the one use of an argument that has become of the declaration
    auto cast = signals.getDefiningOp<UnrealizedConversionCastOp>();
    return signals.getDefiningOp<SignalsOp>() ||
           (cast && isa<BlockArgument>(cast.getOperand(0)) && cast.getOperand(0).hasOneUse());
  };
  return !isDeclared() || llvm::any_of(signals.getUsers(), [&](Operation *user) {
    SmallVector<core::Observation, 3> seen = core::observationsOf(user);
    return seen.empty() || llvm::any_of(seen, [&](const core::Observation &observation) {
             return observation.object == signals && observation.peer;
           });
  });
}

/// What the compiler picks: notifies of a peer go far, waits reach as far as who notifies them.
static Scope pickScope(Operation *op) {
  SmallVector<core::Observation, 3> seen = core::observationsOf(op);
  if (seen.empty() || !seen.back().isSignal())
    return Scope::network;
  const core::Observation &signal = seen.back();
  bool isNotify = signal.effect == core::Observation::Effect::notify;
  bool isFar = isNotify ? signal.peer != nullptr : haveRemoteNotifier(signal.object);
  return isFar ? Scope::network : Scope::device;
}

OrderForm formOf(Operation *op) {
  OrderForm form;
  std::optional<Scope> stated;
  if (auto notify = dyn_cast<NotifyOp>(op)) {
    stated = notify.getScope();
    form.isRelaxed = notify.getRelaxed();
  } else if (auto wait = dyn_cast<WaitOp>(op)) {
    stated = wait.getScope();
    form.isRelaxed = wait.getRelaxed();
    form.isExact = wait.getTest() == WaitTest::exactly;
    form.takes = wait.getTake();
  } else if (auto fence = dyn_cast<FenceOp>(op)) {
    stated = fence.getScope();
  }
  form.isStated = stated.has_value();
  form.scope = stated ? *stated : pickScope(op);
  return form;
}

Scope scopeOf(Operation *op) { return formOf(op).scope; }

std::optional<std::string> formOutsideLanguage(Operation *op) {
  auto form = [&](StringRef word) {
    return (op->getName().getStringRef() + " '" + word + "'").str();
  };
  NotifyMode mode = notifyModeOf(op).value_or(NotifyMode::add);
  if (mode != NotifyMode::add && mode != NotifyMode::set)
    return form(stringifyNotifyMode(mode));
  OrderForm order = formOf(op);
  if (order.isExact)
    return form(stringifyWaitTest(WaitTest::exactly));
  if (order.takes)
    return form("take");
  if (order.isRelaxed)
    return form("relaxed");
  if (order.isStated)
    return form("scope");
  return std::nullopt;
}

} // namespace ditron::device
