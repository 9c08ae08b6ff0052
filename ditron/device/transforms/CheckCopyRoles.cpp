// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CheckCopyRoles: what copy engines cannot execute, and what the launcher could not follow.
//
//     dist.role "r" ... on copy in a loop   stands in scf.for, expected the top of the kernel
//     tile.load in a role on copy           copy engines put, notify and wait
//     dist.put of a chunk at %loaded        depends on tensor.extract, which reads memory
//     dist.notify %s in a role and outside  signal 's' is notified by copy engines and by cores
//
// A launch executes these roles on the host (abi/CopyProgram.h), so all that they do follows from
// extents, integer arguments and ranks. Nothing is rewritten. The messages stand in
// test/device/check-copy-roles.mlir.
#include "ditron/device/Provenance.h"
#include "ditron/device/transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ditron::device {
#define GEN_PASS_DEF_CHECKCOPYROLES
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron;
using namespace ditron::device;

namespace {

bool isOfCopyRole(Operation *op) {
  for (auto role = op->getParentOfType<RoleOp>(); role; role = role->getParentOfType<RoleOp>())
    if (role.getEngine() == Engine::copy)
      return true;
  return false;
}

bool isTile(Type type) { return isa<RankedTensorType, FloatType>(type); }

/// Whether copy engines can execute an op.
bool isForCopyEngines(Operation *op) {
  if (isa<scf::ForOp, scf::IfOp, scf::YieldOp, PutOp, PutNotifyOp, NotifyOp, WaitOp, core::ChunkOp,
          core::RequireOp>(op))
    return true;
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
         !llvm::any_of(op->getResultTypes(), isTile) && !isa<CoreOp, NumCoresOp>(op);
}

/// The op outside of the role on which an op in it depends, that no launch can execute; null if
/// there is none.
Operation *unknownBefore(Operation *op, llvm::DenseSet<Operation *> &seen) {
  if (!op || !seen.insert(op).second || isa<SymmetricOp, SignalsOp>(op))
    return nullptr;
  if (!isOfCopyRole(op) && (!isMemoryEffectFree(op) || op->getNumRegions() > 0))
    return op;
  for (Value operand : op->getOperands())
    if (Operation *found = unknownBefore(operand.getDefiningOp(), seen))
      return found;
  return nullptr;
}

LogicalResult checkBody(RoleOp role) {
  llvm::DenseSet<Operation *> seen;
  WalkResult result = role.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isForCopyEngines(op)) {
      op->emitError() << "role '" << role.getName()
                      << "' runs on copy engines, which put, notify and wait: they do not execute "
                      << op->getName();
      return WalkResult::interrupt();
    }
    if (isa<scf::ForOp, scf::IfOp>(op) && op->getNumResults() > 0) {
      op->emitError() << "role '" << role.getName()
                      << "' runs on copy engines, whose loops and branches carry no values";
      return WalkResult::interrupt();
    }
    Operation *unknown = unknownBefore(op, seen);
    if (!unknown)
      return WalkResult::advance();
    auto error = op->emitError() << "role '" << role.getName()
                                 << "' runs on copy engines, and what they do depends on "
                                 << unknown->getName()
                                 << "; expected extents, integer arguments and ranks only";
    error.attachNote(unknown->getLoc()) << "found here";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult checkPlace(RoleOp role) {
  if (isa<func::FuncOp>(role->getParentOp()))
    return success();
  return role.emitError() << "role '" << role.getName() << "' runs on copy engines and stands in "
                          << role->getParentOp()->getName()
                          << ", expected the top of the kernel: they begin when the launch does";
}

/// Copy engines write words and cannot add, so nobody else notifies what they notify: an error at the cores' op.
LogicalResult checkSignals(func::FuncOp kernel) {
  llvm::DenseMap<Value, Operation *> byEngines;
  auto forEach = [&](llvm::function_ref<WalkResult(Operation *, Value)> visit) {
    return kernel.walk([&](Operation *op) {
      for (const core::Observation &seen : core::observationsOf(op))
        if (seen.isSignal() && seen.effect == core::Observation::Effect::notify)
          return visit(op, originOf(seen.object));
      return WalkResult::advance();
    });
  };
  forEach([&](Operation *op, Value signals) {
    if (isOfCopyRole(op))
      byEngines.try_emplace(signals, op);
    return WalkResult::advance();
  });
  WalkResult result = forEach([&](Operation *op, Value signals) {
    auto found = byEngines.find(signals);
    if (isOfCopyRole(op) || found == byEngines.end())
      return WalkResult::advance();
    auto declaration = signals.getDefiningOp<SignalsOp>();
    auto error = op->emitError() << "signal '" << (declaration ? declaration.getName() : "")
                                 << "' is notified by copy engines and by cores, expected signals "
                                    "of their own";
    error.attachNote(found->second->getLoc()) << "copy engines do it here";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

struct CheckCopyRoles : device::impl::CheckCopyRolesBase<CheckCopyRoles> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](RoleOp role) {
      bool isForCores = role.getEngine() != Engine::copy;
      return isForCores || (succeeded(checkPlace(role)) && succeeded(checkBody(role)))
                 ? WalkResult::advance()
                 : WalkResult::interrupt();
    });
    if (result.wasInterrupted() || failed(checkSignals(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
