// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lower-prove-requirements: what holds for all tiles is not asked.
//
//   %g = arith.remui %tile, %c8
//   %first = arith.addi %g, %c40
//   %ok = arith.cmpi sle, %first, %c48
//   tile.require %ok, ...                       becomes nothing
//
// The ranges of integers say so (mlir::dataflow::IntegerRangeAnalysis), or what was required before. A requirement that stays ends a launch, so reads
// on both sides of it do not wait together, and each tile computes what it asks for.
// test/lower/prove-requirements.mlir shows it.
#include "ditron/core/TileOps.h"
#include "ditron/lower/Passes.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/IR/Dominance.h"

using namespace mlir;

namespace ditron::lower {

#define GEN_PASS_DEF_PROVEREQUIREMENTS
#include "ditron/lower/Passes.h.inc"

namespace {

/// Whether it is true whenever it is computed.
bool isAlwaysTrue(Value condition, const DataFlowSolver &solver) {
  const auto *range = solver.lookupState<dataflow::IntegerValueRangeLattice>(condition);
  if (!range || range->getValue().isUninitialized())
    return false;
  std::optional<APInt> value = range->getValue().getValue().getConstantValue();
  return value && value->isOne();
}

class ProveRequirements : public impl::ProveRequirementsBase<ProveRequirements> {
  void runOnOperation() override {
    DataFlowSolver solver;
    solver.load<dataflow::DeadCodeAnalysis>();
    solver.load<dataflow::IntegerRangeAnalysis>();
    if (failed(solver.initializeAndRun(getOperation())))
      return signalPassFailure();
    DominanceInfo dominance(getOperation());
    llvm::DenseMap<Value, SmallVector<core::RequireOp>> required;
    getOperation().walk<WalkOrder::PreOrder>([&](core::RequireOp op) {
      auto &before = required[op.getCondition()];
      bool isKnown = llvm::any_of(
          before, [&](core::RequireOp other) { return dominance.properlyDominates(other, op); });
      if (isKnown || isAlwaysTrue(op.getCondition(), solver))
        op.erase();
      else
        before.push_back(op);
    });
  }
};

} // namespace
} // namespace ditron::lower
