// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-sink-waits: a task of a graph waits where it first reads or writes what tasks share.
//
//   scf.for %n = ... { simt.wait ... }              scf.if %isProduct {
//   scf.if %isProduct {                               %n = memref.load %tasks[...]
//     %n = memref.load %tasks[...]                    %x = simt.view_at %table[%n]
//     %x = simt.view_at %table[%n]        becomes     scf.for %tile = %first to ... {
//     scf.for %tile = %first to ... {                   ... tile.load %gain ...
//       ... tile.load %gain ...                         scf.if %tile == %first {
//       ... tile.load %x ...                              scf.for %n = ... { simt.wait ... }
//     }                                                 }
//   }                                                   ... tile.load %x ...
//   scf.if %isNorm { ... }                            }
//                                                     scf.if (there is no tile) { the waits }
//                                                   }
//                                                   scf.if %isNorm { ... as that ... }
//
// Between the last task that it waits for and its first load, nothing else is to be read or found out then:
// places in tables, positions, gains, requirements. Each type has waits of its own, and so has each branch
// that goes on by itself. What goes in front of them has no effect, but to end a launch whose requirements do
// not hold, and reads what no task writes. Of a cache, whose rows tasks write, most was there before: it is
// asked for in front of the waits (simt.prefetch). What comes into the last cache too soon is no harm, for it
// is there that SMs write.
// test/targets/gpu/sink-waits.mlir shows it.
#include "ditron/core/TileOps.h"
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_SINKWAITS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// Whether an op may be moved in front of waits, wherever it is needed.
bool isFound(Operation &op) {
  auto isOfTile = [](Value value) { return isTile(value); };
  if (op.getNumRegions() > 0 || llvm::any_of(op.getResults(), isOfTile) ||
      op.hasTrait<OpTrait::IsTerminator>())
    return false;
  return isa<memref::LoadOp>(op) ? op.hasAttr(core::kWithinAttr) : isMemoryEffectFree(&op);
}

/// Whether an op, with all that is in it, may come before waits where it stands.
bool isEarly(Operation &op) {
  WalkResult result = op.walk<WalkOrder::PreOrder>([](Operation *inner) {
    if (isExit(inner))
      return WalkResult::skip();
    Value view =
        isa<memref::LoadOp, core::LoadOp, core::GatherOp>(inner) ? inner->getOperand(0) : Value();
    bool isConstant = view && (isReadOnly(view) || inner->hasAttr(core::kWithinAttr));
    return isConstant || isMemoryEffectFree(inner) || isa<scf::ForOp, scf::IfOp>(inner)
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// Puts copies of waits where a task needs them.
class Sinking {
public:
  explicit Sinking(scf::ForOp waits) : waits_(waits) {}

  /// Into the branch of a type, or a loop or a branch in it; into what is in them too, but no deeper than
  /// one loop. Where there is a condition, they are waited for on it.
  void into(Block &block, bool isInLoop = false, Value condition = nullptr) {
    Operation *op = &block.front();
    while (!op->hasTrait<OpTrait::IsTerminator>() && isEarly(*op))
      op = op->getNextNode();
    auto loop = dyn_cast<scf::ForOp>(op);
    auto branch = dyn_cast<scf::IfOp>(op);
    if (loop && loop.getNumResults() == 0 && !isInLoop)
      return intoLoop(loop);
    if (branch && branch.getNumResults() == 0)
      return intoBranch(branch, isInLoop, condition);
    Operation *waits = place(op, condition);
    findFirst(waits, block);
    askForCaches(waits, block);
  }

private:
  /// Its first iteration waits; if there is none, the waits come behind it.
  void intoLoop(scf::ForOp loop) {
    OpBuilder b = OpBuilder::atBlockBegin(loop.getBody());
    auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
      return b.create<arith::CmpIOp>(loop.getLoc(), predicate, x, y);
    };
    Value first = loop.getLowerBound();
    Value isFirst = compare(arith::CmpIPredicate::eq, loop.getInductionVar(), first);
    into(*loop.getBody(), /*isInLoop=*/true, isFirst);
    b.setInsertionPointAfter(loop);
    Value isEmpty = compare(arith::CmpIPredicate::sge, first, loop.getUpperBound());
    place(isEmpty.getDefiningOp()->getNextNode(), isEmpty);
  }

  void intoBranch(scf::IfOp branch, bool isInLoop, Value condition) {
    if (!branch.elseBlock()) {
      OpBuilder b(branch);
      b.createBlock(&branch.getElseRegion());
      b.create<scf::YieldOp>(branch.getLoc());
    }
    into(*branch.thenBlock(), isInLoop, condition);
    into(*branch.elseBlock(), isInLoop, condition);
  }

  /// In front of an op; the outermost op that was made.
  Operation *place(Operation *before, Value condition) {
    OpBuilder b(before);
    if (!condition)
      return b.clone(*waits_);
    auto branch = b.create<scf::IfOp>(waits_.getLoc(), condition, /*withElseRegion=*/false);
    OpBuilder::atBlockBegin(branch.thenBlock()).clone(*waits_);
    return branch;
  }

  /// Whether all that an op takes is there before the waits, which stand in the op's block.
  static bool isKnownBefore(Operation *waits, Operation &op) {
    return llvm::none_of(op.getOperands(), [&](Value value) {
      Operation *made = value.getDefiningOp();
      return made && made->getBlock() == op.getBlock() && waits->isBeforeInBlock(made);
    });
  }

  /// What the rest of the block finds out goes in front of the waits.
  static void findFirst(Operation *waits, Block &block) {
    for (Operation &op :
         llvm::make_early_inc_range(llvm::make_range(std::next(waits->getIterator()), block.end())))
      if (isFound(op) && isKnownBefore(waits, op))
        op.moveBefore(waits);
  }

  /// Only where the task waits: it asks before it does.
  static void askForCaches(Operation *waits, Block &block) {
    auto branch = dyn_cast<scf::IfOp>(waits);
    OpBuilder b = branch ? OpBuilder::atBlockBegin(branch.thenBlock()) : OpBuilder(waits);
    for (Operation &op : llvm::make_range(std::next(waits->getIterator()), block.end()))
      if (auto load = dyn_cast<core::LoadOp>(op);
          load && isLasting(load.getView()) && isKnownBefore(waits, op))
        b.create<PrefetchOp>(load.getLoc(), load.getView(), load.getCoords(),
                             TypeAttr::get(load.getTile().getType()));
  }

  scf::ForOp waits_;
};

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
        Sinking(waits).into(*branch.thenBlock());
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
