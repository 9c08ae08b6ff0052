// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-sink-waits: a task of a graph first finds out what it works on, then waits.
//
//   scf.for %n = ... { simt.wait ... }              scf.if %isProduct {
//   scf.if %isProduct {                               %n = memref.load %tasks[...]
//     %n = memref.load %tasks[...]                    %x = simt.view_at %table[%n]
//     %x = simt.view_at %table[%n]        becomes     scf.for %n = ... { simt.wait ... }
//     scf.for %tile = ... {                           scf.for %tile = ... {
//       ... tile.load %x ...                            ... tile.load %x ...
//   scf.if %isNorm { ... }                          scf.if %isNorm { ... as that ... }
//
// Between the last task that it waits for and its first load, nothing else is to be read then. Each type has
// waits of its own. What goes in front of them has no effect, and reads tables of the schedule alone.
// test/targets/gpu/sink-waits.mlir shows it.
#include "ditron/core/TileOps.h"
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_SINKWAITS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// Whether an op may go in front of waits, wherever it is needed.
bool isFound(Operation &op) {
  auto isOfTile = [](Value value) { return isTile(value); };
  if (op.getNumRegions() > 0 || llvm::any_of(op.getResults(), isOfTile) ||
      op.hasTrait<OpTrait::IsTerminator>())
    return false;
  return isa<memref::LoadOp>(op) ? op.hasAttr(core::kWithinAttr) : isMemoryEffectFree(&op);
}

/// Puts a copy of the waits into the branch of a type, behind what is found.
void sinkInto(scf::IfOp branch, scf::ForOp waits) {
  Block *block = branch.thenBlock();
  auto copy = cast<scf::ForOp>(OpBuilder::atBlockBegin(block).clone(*waits));
  auto isLate = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && op->getBlock() == block && copy->isBeforeInBlock(op);
  };
  for (Operation &op :
       llvm::make_early_inc_range(llvm::make_range(std::next(copy->getIterator()), block->end())))
    if (isFound(op) && llvm::none_of(op.getOperands(), isLate))
      op.moveBefore(copy);
}

class SinkWaits : public impl::SinkWaitsBase<SinkWaits> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(device::kExactCoresAttr))
      return;
    SetVector<scf::ForOp> loops;
    getOperation().walk([&](WaitOp wait) {
      if (auto loop = dyn_cast<scf::ForOp>(wait->getParentOp()); loop && !typesBehind(loop).empty())
        loops.insert(loop);
    });
    for (scf::ForOp waits : loops) {
      for (scf::IfOp branch : typesBehind(waits))
        sinkInto(branch, waits);
      waits.erase();
    }
  }

  /// The branches of the types of tasks behind a loop, one of which is taken.
  static SmallVector<scf::IfOp> typesBehind(scf::ForOp loop) {
    SmallVector<scf::IfOp> types;
    for (Operation *op = loop->getNextNode(); op; op = op->getNextNode())
      if (auto branch = dyn_cast<scf::IfOp>(op); branch && op->hasAttr(device::kAlternativeAttr))
        types.push_back(branch);
    return types;
  }
};

} // namespace
} // namespace ditron::gpu
