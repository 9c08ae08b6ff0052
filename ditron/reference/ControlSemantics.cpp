// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// func and scf: which block runs next.
#include "ditron/reference/Semantics.h"
#include "ditron/support/Error.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"
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

/// Operations that no run of the interpreter comes to the end of: days at its speed.
constexpr uint64_t kEndless = uint64_t(1) << 40;

/// The number of iterations; CompileError where that is more than any run can make.
void checkIterations(int64_t lower, int64_t upper, int64_t step) {
  uint64_t length = upper > lower ? uint64_t(upper) - uint64_t(lower) : 0;
  uint64_t iterations = length / uint64_t(step);
  if (iterations > kEndless)
    throw CompileError(fmt::format("has {} iterations, expected at most {}: no run of it ends",
                                   iterations, kEndless));
}

void runFor(CoreMachine &core, scf::ForOp op) {
  int64_t lower = core.integer(op.getLowerBound()), upper = core.integer(op.getUpperBound());
  int64_t step = core.integer(op.getStep());
  if (step < 1)
    throw CompileError(fmt::format("has step {}, expected 1 or more", step));
  checkIterations(lower, upper, step);
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

func::FuncOp calleeOf(World &world, func::CallOp op) {
  return world.symbols.lookupNearestSymbolFrom<func::FuncOp>(op, op.getCalleeAttr());
}

/// How many operations a call of a function executes at least: those outside of regions. CompileError
/// where its calls nest too deep.
uint64_t leastOperations(World &world, func::FuncOp function, int depth = 1) {
  constexpr int kDeepestCalls = 256;
  if (depth > kDeepestCalls)
    throw CompileError(fmt::format("begins calls that nest more than {} deep, at '{}'",
                                   kDeepestCalls, std::string_view(function.getName())));
  auto [found, isNew] = world.leastOperations.try_emplace(function, 0); // 0 within itself
  if (!isNew || !function.getBody().hasOneBlock())
    return found->second;
  uint64_t count = 0;
  for (Operation &op : function.getBody().front()) {
    auto call = dyn_cast<func::CallOp>(op);
    func::FuncOp callee = call ? calleeOf(world, call) : nullptr;
    count = llvm::SaturatingAdd<uint64_t>(
        count, callee ? leastOperations(world, callee, depth + 1) + 1 : 1);
  }
  return world.leastOperations[function] = count;
}

void checkCost(CoreMachine &core, func::FuncOp callee) {
  uint64_t least = leastOperations(core.world(), callee);
  if (least > kEndless)
    throw CompileError(fmt::format("calls '{}', which executes {} operations or more, expected at "
                                   "most {}: no run of it ends",
                                   std::string_view(callee.getName()), least, kEndless));
}

void runCall(CoreMachine &core, func::CallOp op) {
  func::FuncOp callee = calleeOf(core.world(), op);
  std::string_view name = op.getCallee();
  if (!callee || !callee.getBody().hasOneBlock())
    throw CompileError(fmt::format("calls '{}', which has no body of one block", name));
  Block &body = callee.getBody().front();
  if (core.isInside(body))
    throw CompileError(fmt::format("calls '{}' within itself: there is no recursion", name));
  checkCost(core, callee);
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
