// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CheckEffects: what a kernel must not do, as far as one look at the whole of it can tell.
//
//     tile.store %t, %A[...]               writes argument 'A', which is an input
//     dist.wait %ready[...] >= %n          signal 'ready' is waited on but nothing notifies it
//     dist.notify %s add, then set         signal 's' is notified in two modes
//     dist.receive %box[...]               nothing sends to inbox 'box'; or nothing receives
//     dist.symmetric "b"(%rank)            two ranks could allocate different sizes
//     dist.symmetric "b", twice            two symmetric buffers, ... are named 'b'
//
// Nothing is rewritten. All errors of a kernel are reported, not just the first. The messages stand
// in test/device/check-effects.mlir.
//
#include "ditron/device/Provenance.h"
#include "ditron/device/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"

namespace ditron::device {
#define GEN_PASS_DEF_CHECKEFFECTS
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron;
using namespace ditron::device;

namespace {

//===-- Inputs --------------------------------------------------------------------------------===//

/// The input of the kernel that an observation writes; null if it writes none.
BlockArgument writtenInput(const core::Observation &seen, func::FuncOp kernel) {
  auto argument = seen.writes() ? dyn_cast<BlockArgument>(originOf(seen.object)) : BlockArgument();
  bool isInput = argument && argument.getOwner()->getParentOp() == kernel &&
                 kernel.getArgAttr(argument.getArgNumber(), core::kReadOnlyAttr);
  return isInput ? argument : BlockArgument();
}

LogicalResult checkInputs(func::FuncOp kernel) {
  bool ok = true;
  kernel.walk([&](Operation *op) {
    for (const core::Observation &seen : core::observationsOf(op))
      if (BlockArgument argument = writtenInput(seen, kernel)) {
        op->emitError() << op->getName() << " writes " << describe(argument)
                        << ", which is an input";
        ok = false;
      }
  });
  return success(ok);
}

//===-- Signals -------------------------------------------------------------------------------===//

/// The first op of each kind that touches some signals. `other` are the modes that no backend runs.
struct Uses {
  Operation *wait = nullptr, *add = nullptr, *set = nullptr, *other = nullptr;
};

llvm::MapVector<Operation *, Uses> collectUses(func::FuncOp kernel) {
  llvm::MapVector<Operation *, Uses> uses;
  auto kindOf = [](Operation *op) {
    std::optional<NotifyMode> mode = notifyModeOf(op);
    return !mode                      ? &Uses::wait
           : *mode == NotifyMode::add ? &Uses::add
           : *mode == NotifyMode::set ? &Uses::set
                                      : &Uses::other;
  };
  kernel.walk([&](Operation *op) {
    // Signals that come from elsewhere may be notified elsewhere too.
    for (const core::Observation &seen : core::observationsOf(op))
      if (auto declaration = seen.isSignal() ? seen.object.getDefiningOp<SignalsOp>() : SignalsOp())
        if (Operation *&first = uses[declaration].*kindOf(op); !first)
          first = op;
  });
  return uses;
}

LogicalResult checkSignals(func::FuncOp kernel) {
  bool ok = true;
  for (auto [declaration, use] : collectUses(kernel)) {
    StringRef name = cast<SignalsOp>(declaration).getName();
    if (use.wait && !use.add && !use.set && !use.other) {
      auto error = use.wait->emitError()
                   << "signal '" << name << "' is waited on but nothing notifies it";
      error.attachNote(declaration->getLoc()) << "declared here";
      ok = false;
    }
    if (use.add && use.set) {
      bool addFirst =
          use.add->getBlock() != use.set->getBlock() || use.add->isBeforeInBlock(use.set);
      Operation *first = addFirst ? use.add : use.set, *second = addFirst ? use.set : use.add;
      auto error = second->emitError() << "signal '" << name << "' is notified by add and by set, "
                                       << "expected one of them";
      error.attachNote(first->getLoc()) << "the other one is here";
      ok = false;
    }
  }
  return success(ok);
}

//===-- Inboxes -----------------------------------------------------------------------------===//

/// An inbox is sent to and received from: a tile that nobody takes says nothing of its receiver.
LogicalResult checkInboxes(func::FuncOp kernel) {
  bool ok = true;
  kernel.walk([&](InboxOp box) {
    auto hasUser = [&](auto isWanted) { return llvm::any_of(box->getUsers(), isWanted); };
    bool isSent = hasUser([](Operation *user) { return isa<SendOp>(user); });
    bool isReceived = hasUser([](Operation *user) { return isa<ReceiveOp>(user); });
    if (isSent == isReceived)
      return;
    box->emitError() << "inbox '" << box.getName() << "' is "
                     << (isSent ? "sent to but nothing receives from it"
                                : "received from but nothing sends to it");
    ok = false;
  });
  return success(ok);
}

//===-- Symmetric allocations -----------------------------------------------------------------===//

/// Whether the value of an op is the same on every rank if those of its operands are.
bool isUniform(Operation *op) {
  if (isa<RankOp, CoreOp, NumCoresOp>(op))
    return false;
  return isMemoryEffectFree(op) && op->getNumRegions() == 0;
}

/// Whether every rank starts with the same argument: an integer, or a tensor as far as extents go.
bool isUniform(BlockArgument argument, func::FuncOp kernel) {
  return argument.getOwner()->getParentOp() == kernel &&
         (argument.getType().isIntOrIndex() || isa<MemRefType>(argument.getType()));
}

/// What an extent depends on that ranks may disagree about, as an error at `op`.
LogicalResult checkExtents(Operation *op, StringRef name, func::FuncOp kernel) {
  SmallVector<Value> work(op->getOperands());
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *definition = value.getDefiningOp();
    if (isa_and_nonnull<SymmetricOp>(definition))
      continue; // its extents are checked where it stands
    if (definition && isUniform(definition)) {
      llvm::append_range(work, definition->getOperands());
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && isUniform(argument, kernel))
      continue;
    InFlightDiagnostic error = op->emitError();
    error << "the size of '" << name << "' depends on ";
    if (argument)
      error << describe(argument) << " of type " << argument.getType();
    else
      error << definition->getName();
    error << ": two ranks could allocate different sizes; expected arguments' extents, integer "
             "arguments and dist.num_ranks only";
    if (definition)
      error.attachNote(definition->getLoc()) << "found here";
    return error;
  }
  return success();
}

LogicalResult checkAllocations(func::FuncOp kernel) {
  bool ok = true;
  llvm::StringMap<Operation *> names;
  auto check = [&](Operation *op, StringRef name) {
    ok &= succeeded(checkExtents(op, name, kernel));
    auto [first, isNew] = names.try_emplace(name, op);
    if (isNew)
      return;
    auto error = op->emitError() << "two symmetric buffers, signals or inboxes are named '" << name
                                 << "'";
    error.attachNote(first->second->getLoc()) << "the first one is here";
    ok = false;
  };
  kernel.walk([&](SymmetricOp op) { check(op, op.getName()); });
  kernel.walk([&](SignalsOp op) { check(op, op.getName()); });
  kernel.walk([&](InboxOp op) { check(op, op.getName()); });
  return success(ok);
}

struct CheckEffects : ditron::device::impl::CheckEffectsBase<CheckEffects> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    bool inputs = succeeded(checkInputs(kernel)), signals = succeeded(checkSignals(kernel));
    bool inboxes = succeeded(checkInboxes(kernel));
    if (failed(checkAllocations(kernel)) || !inputs || !signals || !inboxes)
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
