// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// func and scf: which block runs next.
#include "ditron/reference/Semantics.h"
#include "ditron/support/Error.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include <fmt/format.h>

using namespace mlir;

namespace ditron::reference {
namespace {

/// Runs a block once; what it yields are the results of `op`.
CoreMachine::Continuation once(Operation *op) {
  return [op, first = true](CoreMachine &core, const Values &yielded) mutable {
    if (!first)
      core.set(op->getResults(), yielded);
    return std::exchange(first, false);
  };
}

void runFor(CoreMachine &core, scf::ForOp op) {
  int64_t lower = core.integer(op.getLowerBound()), upper = core.integer(op.getUpperBound());
  int64_t step = core.integer(op.getStep());
  if (step < 1)
    throw CompileError(fmt::format("has step {}, expected 1 or more", step));
  auto again = [op, upper, step, next = lower](CoreMachine &core, const Values &carried) mutable {
    if (next >= upper) {
      core.set(op.getResults(), carried);
      return false;
    }
    core.set(op.getInductionVar(), next);
    core.set(op.getRegionIterArgs(), carried);
    // Near the end of the range the next index may not be a number: then it is the last one.
    next = step > upper - next ? upper : next + step;
    return true;
  };
  core.enter(*op.getBody(), again, core.get(op.getInitArgs()));
}

void runIf(CoreMachine &core, scf::IfOp op) {
  Region &region = core.integer(op.getCondition()) ? op.getThenRegion() : op.getElseRegion();
  if (!region.empty())
    core.enter(region.front(), once(op));
}

void runCall(CoreMachine &core, func::CallOp op) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getCalleeAttr());
  std::string_view name = op.getCallee();
  if (!callee || !callee.getBody().hasOneBlock())
    throw CompileError(fmt::format("calls '{}', which has no body of one block", name));
  Block &body = callee.getBody().front();
  if (core.isInside(body))
    throw CompileError(fmt::format("calls '{}' within itself: there is no recursion", name));
  core.set(body.getArguments(), core.get(op.getOperands()));
  core.enter(body, once(op));
}

} // namespace

void addControl(Semantics &semantics) {
  semantics.add<scf::ForOp>(runFor);
  semantics.add<scf::IfOp>(runIf);
  semantics.add<func::CallOp>(runCall);
  semantics.add<scf::YieldOp>(
      [](CoreMachine &core, scf::YieldOp op) { core.yield(core.get(op.getOperands())); });
  semantics.add<func::ReturnOp>(
      [](CoreMachine &core, func::ReturnOp op) { core.yield(core.get(op.getOperands())); });
}

} // namespace ditron::reference
