// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/MessageOrder.h"
#include "ditron/device/ProgramOrder.h"
#include "ditron/device/Provenance.h"

using namespace mlir;

namespace ditron::device {

using core::Observation;

MessageOrder::MessageOrder(func::FuncOp function) {
  findMemory(function);
  if (handedOn_.empty())
    return;
  function.walk([&](Operation *op) {
    if (auto send = dyn_cast<SendOp>(op))
      return void(sends_.push_back(send));
    auto counts = [&](const Observation &seen) {
      return seen.isMemory() ? handedOn_.contains(originOf(seen.object))
                             : seen.effect != Observation::Effect::notify;
    };
    if (!isa<ReceiveOp>(op) && llvm::any_of(core::observationsOf(op), counts))
      past_.push_back(op);
  });
  // A message that orders something hands it on to those behind its receive.
  for (bool changes = true; changes;) {
    changes = false;
    for (SendOp send : sends_) {
      if (send->hasAttr(kUnorderedAttr) || ordering_.contains(send.getInbox()) || !hasPast(send))
        continue;
      ordering_.insert(send.getInbox());
      function.walk([&](ReceiveOp receive) {
        if (receive.getInbox() == send.getInbox())
          past_.push_back(receive);
      });
      changes = true;
    }
  }
}

void MessageOrder::findMemory(func::FuncOp function) {
  llvm::DenseSet<Value> read, written;
  function.walk([&](Operation *op) {
    for (const Observation &seen : core::observationsOf(op)) {
      if (!seen.isMemory() || isa<SendOp, ReceiveOp>(op))
        continue;
      if (seen.reads())
        read.insert(originOf(seen.object));
      if (seen.writes())
        written.insert(originOf(seen.object));
    }
  });
  for (Value memory : read)
    if (written.contains(memory))
      handedOn_.insert(memory);
}

bool MessageOrder::hasPast(SendOp send) const {
  return llvm::any_of(past_, [&](Operation *op) { return mayPrecede(op, send); });
}

Scope MessageOrder::scopeOf(Operation *verb) const {
  auto send = dyn_cast<SendOp>(verb);
  Value inbox = send ? send.getInbox() : cast<ReceiveOp>(verb).getInbox();
  if (verb->hasAttr(kUnorderedAttr) || !ordering_.contains(inbox))
    return Scope::core;
  auto isNear = [](SendOp one) { return one.getPeer().getDefiningOp<RankOp>() != nullptr; };
  bool staysInRank = send ? isNear(send) : llvm::all_of(sends_, [&](SendOp one) {
    return one.getInbox() != inbox || isNear(one);
  });
  return staysInRank ? Scope::device : Scope::network;
}

} // namespace ditron::device
