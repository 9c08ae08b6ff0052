// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/analysis/Projection.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/nvidia/analysis/TensorCores.h"
#include "ditron/targets/nvidia/analysis/TensorViews.h"
#include "ditron/targets/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {

/// Whether a view is of symmetric memory that has pages: of this rank's one, or of a peer's memory.
static bool isShifted(Value view, bool toPage) {
  while (Operation *op = view.getDefiningOp()) {
    auto shift = dyn_cast<ShiftOp>(op);
    if (shift && static_cast<bool>(shift.getPage()) == toPage)
      return true;
    view = op->getOperand(0);
  }
  return false;
}

/// Whether the kernel writes an argument by itself, other than by what it puts to a peer, which may
/// be this rank: of that, waits tell.
static bool isStored(func::FuncOp function, BlockArgument root) {
  WalkResult result = function.walk([&](Operation *op) {
    Value view = isa<core::LoadOp, core::GatherOp>(op) ? nullptr : viewOf(op);
    if (auto move = dyn_cast<MoveOp>(op);
        move && !isShifted(move.getDestination(), /*toPage=*/false))
      view = move.getDestination();
    return view && rootOf(view) == root ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether it reads from an argument that the kernel may not write, or from symmetric memory that
/// others write.
static bool isLoadOfOthers(Operation *op) {
  auto load = dyn_cast<memref::LoadOp>(op);
  BlockArgument root = load ? rootOf(load.getMemRef()) : nullptr;
  if (!root)
    return false;
  auto function = cast<func::FuncOp>(root.getOwner()->getParentOp());
  return function.getArgAttr(root.getArgNumber(), core::kReadOnlyAttr) ||
         (isShifted(load.getMemRef(), /*toPage=*/true) && !isStored(function, root));
}

bool Projection::isScalar(Operation *op) {
  auto isOfTiles = [](Operation *inner) {
    return llvm::any_of(inner->getOperands(), [](Value v) { return isTile(v); }) ||
           llvm::any_of(inner->getResults(), [](Value v) { return isTile(v); });
  };
  WalkResult result = op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (gpu::isExit(inner))
      return WalkResult::skip();
    bool isPure =
        isMemoryEffectFree(inner) || isLoadOfOthers(inner) || isa<scf::ForOp, scf::IfOp>(inner);
    return !isOfTiles(inner) && isPure ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

bool Projection::foresees(Operation *op) {
  while (!gpu::isExit(op) && !isa<func::FuncOp>(op))
    op = op->getParentOp();
  if (isa<func::FuncOp>(op))
    return false;
  while (isScalar(op->getParentOp()))
    op = op->getParentOp();
  return reaches(op) && computesOperands(op);
}

// What a loop passes on may depend on itself: it is known unless something else is missing. Then
// what was found on that condition is asked again.
bool Projection::computes(Value value) {
  if (missing_.contains(value))
    return false;
  if (!known_.insert(value).second || computesAnew(value))
    return true;
  known_.clear();
  missing_.insert(value);
  return false;
}

bool Projection::computesOperands(Operation *op) {
  WalkResult result = op->walk([&](Operation *inner) {
    bool isKnown = llvm::all_of(inner->getOperands(), [&](Value operand) {
      return op->isProperAncestor(operand.getParentBlock()->getParentOp()) ||
             operand.getParentBlock()->getParentOp() == op || computes(operand);
    });
    return isKnown ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

bool Projection::computesAnew(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop || argument == loop.getInductionVar())
      return loop || isa<func::FuncOp>(parent);
    return !isTile(argument) && computes(loop.getTiedLoopInit(argument)->get()) &&
           computes(loop.getTiedLoopYieldedValue(argument)->get());
  }
  Operation *op = value.getDefiningOp();
  return isScalar(op) && computesOperands(op);
}

bool Projection::reaches(Operation *op) {
  for (Operation *parent = op->getParentOp(); !isa<func::FuncOp>(parent);
       parent = parent->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    auto branch = dyn_cast<scf::IfOp>(parent);
    if (loop && !(computes(loop.getLowerBound()) && computes(loop.getUpperBound()) &&
                  computes(loop.getStep())))
      return false;
    if (branch && !computes(branch.getCondition()))
      return false;
    if (!loop && !branch)
      return false;
  }
  return true;
}

} // namespace ditron::nvidia
