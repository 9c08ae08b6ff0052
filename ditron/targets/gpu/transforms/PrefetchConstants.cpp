// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-prefetch-constants: while a task of a graph waits, what it reads and nobody writes comes nearer.
//
//   scf.for %n = ... { simt.wait ... }              scf.if %isProduct {
//   scf.if %isProduct {                               scf.for %k = ... {
//     scf.for %k = ... iter_args(%sum) {                simt.prefetch %W[%j, %k]
//       %x = tile.load %x[%k]                         }
//       %w = tile.load %W[%j, %k]        becomes    }
//       ...                                         scf.for %n = ... { simt.wait ... }
//     }                                             scf.if %isProduct { ... }
//   }
//
// Weights depend on no task, so that memory need not idle between one task and the next. What is asked
// for is what the loops and branches behind the wait load from arguments that the kernel does not write,
// at places that numbers known before the wait name. test/targets/gpu/prefetch-constants.mlir shows it.
#include "ditron/core/TileOps.h"
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_PREFETCHCONSTANTS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// Whether nobody writes a view during the launch.
bool isConstant(Value view) {
  while (auto part = view.getDefiningOp<ViewLikeOpInterface>())
    view = part.getViewSource();
  if (auto chosen = view.getDefiningOp<ViewAtOp>())
    return chosen->hasAttr(core::kReadOnlyAttr);
  auto argument = dyn_cast<BlockArgument>(view);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function && function.getArgAttr(argument.getArgNumber(), core::kReadOnlyAttr);
}

/// Copies what stands behind the waits of a task to the front of them, as far as it leads to loads of
/// constants.
class Asking {
public:
  explicit Asking(scf::ForOp waits) : wait_(waits), b_(waits) {}

  void run() {
    for (Operation *op = wait_->getNextNode(); op; op = op->getNextNode())
      copy(*op);
  }

private:
  /// Whether a value is known before the wait, there or as a copy.
  bool isKnown(Value value) const {
    if (copies_.contains(value))
      return true;
    Block *block = value.getParentBlock();
    Operation *op = value.getDefiningOp();
    if (block == wait_->getBlock())
      return !op || op->isBeforeInBlock(wait_);
    return block->getParentOp()->isProperAncestor(wait_);
  }
  bool areKnown(ValueRange values) const {
    return llvm::all_of(values, [this](Value value) { return isKnown(value); });
  }
  Value known(Value value) const { return copies_.lookupOrDefault(value); }

  /// Whether something is asked for.
  bool copy(Operation &op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return copyLoop(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return copyBranch(branch);
    if (auto load = dyn_cast<core::LoadOp>(op))
      return ask(load);
    if (isNumber(op) && areKnown(op.getOperands()))
      b_.clone(op, copies_);
    return false;
  }

  bool copyBlock(Block &block) {
    bool asks = false;
    for (Operation &op : block.without_terminator())
      asks |= copy(op);
    return asks;
  }

  bool copyLoop(scf::ForOp loop) {
    if (!areKnown({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}))
      return false;
    auto copied = b_.create<scf::ForOp>(loop.getLoc(), known(loop.getLowerBound()),
                                        known(loop.getUpperBound()), known(loop.getStep()));
    copies_.map(loop.getInductionVar(), copied.getInductionVar());
    return fill(copied, copied.getBody(), *loop.getBody());
  }

  bool copyBranch(scf::IfOp branch) {
    if (branch.elseBlock() || !isKnown(branch.getCondition()))
      return false;
    auto copied = b_.create<scf::IfOp>(branch.getLoc(), known(branch.getCondition()));
    return fill(copied, copied.thenBlock(), *branch.thenBlock());
  }

  bool fill(Operation *copied, Block *into, Block &from) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(into);
    bool asks = copyBlock(from);
    if (!asks)
      copied->erase();
    return asks;
  }

  bool ask(core::LoadOp load) {
    if (!isConstant(load.getView()) || !isKnown(load.getView()) || !areKnown(load.getCoords()))
      return false;
    SmallVector<Value> coords;
    for (Value coord : load.getCoords())
      coords.push_back(known(coord));
    b_.create<PrefetchOp>(load.getLoc(), known(load.getView()), coords,
                          TypeAttr::get(load.getTile().getType()));
    return true;
  }

  /// Whether an op computes numbers or views, or reads a number that nobody writes.
  static bool isNumber(Operation &op) {
    auto isOfTile = [](Value value) { return isTile(value); };
    bool hasTiles =
        llvm::any_of(op.getOperands(), isOfTile) || llvm::any_of(op.getResults(), isOfTile);
    if (hasTiles || op.getNumRegions() > 0 || op.getNumResults() == 0)
      return false;
    auto load = dyn_cast<memref::LoadOp>(op);
    return load ? isConstant(load.getMemRef()) : isMemoryEffectFree(&op);
  }

  Operation *wait_; ///< the loop of waits
  OpBuilder b_;
  IRMapping copies_;
};

class PrefetchConstants : public impl::PrefetchConstantsBase<PrefetchConstants> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(device::kExactCoresAttr))
      return;
    SetVector<scf::ForOp> loops;
    getOperation().walk([&](WaitOp wait) {
      if (auto loop = dyn_cast<scf::ForOp>(wait->getParentOp()); loop && isInFrontOfTypes(loop))
        loops.insert(loop);
    });
    for (scf::ForOp waits : loops)
      Asking(waits).run();
  }

  /// Whether the types of tasks stand behind a loop.
  static bool isInFrontOfTypes(scf::ForOp loop) {
    for (Operation *op = loop->getNextNode(); op; op = op->getNextNode())
      if (op->hasAttr(device::kAlternativeAttr))
        return true;
    return false;
  }
};

} // namespace
} // namespace ditron::gpu
