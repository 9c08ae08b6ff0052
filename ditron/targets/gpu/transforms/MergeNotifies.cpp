// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-merge-notifies: notifies of all ranks, one after the other, become one release.
//
//   scf.for %p = %c0 to %ranks step %c1 {
//     simt.move ...
//     %cell = ... of %p
//     simt.notify %cell "add" %n scope "sys"
//   } {dist.over_ranks}
// becomes
//   scf.for %p = %c0 to %ranks step %c1 {
//     simt.move ...
//   } {dist.over_ranks}
//   simt.notify_each %c0 to %ranks scope "sys" {
//   ^bb0(%p: index):
//     %cell = ... of %p
//     simt.notify %cell "add" %n scope "sys" relaxed
//   }
//
// A release waits until all that came before is visible, which takes as long as a message to a peer
// and back; so a rank that notifies its peers in turn waits for each of them. The last peer sees what
// is for it no later, the first one does after the moves to the others. Tiles that are stored to peers
// are moved, too. Only loops over ranks are taken apart, since they are short. test/targets/gpu/merge-notifies.mlir shows it.
#include "ditron/device/RankLoops.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_MERGENOTIFIES
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// The only notify of a loop, behind all else that it does: moves that need not be complete, and stores to peers.
NotifyOp lastNotifyOf(scf::ForOp loop) {
  NotifyOp notify;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isMemoryEffectFree(&op))
      continue;
    auto move = dyn_cast<MoveOp>(op);
    auto store = dyn_cast<core::StoreOp>(op);
    bool mayStay =
        (move && !move.getComplete()) || (store && isOnPeer(store.getView())) || isExit(&op);
    if (notify || !(mayStay || isa<NotifyOp>(op)))
      return nullptr;
    notify = dyn_cast<NotifyOp>(op);
  }
  return notify;
}

/// What a notify is computed from in a loop, in program order; none where more than numbers is.
std::optional<SmallVector<Operation *>> sourcesOf(NotifyOp notify, scf::ForOp loop) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return op->getBlock() == loop.getBody(); };
  getBackwardSlice(notify.getOperation(), &slice, options);
  SmallVector<Operation *> sources;
  for (Operation &op : *loop.getBody())
    if (slice.contains(&op)) {
      if (!isMemoryEffectFree(&op) || op.getNumRegions() > 0)
        return std::nullopt;
      sources.push_back(&op);
    }
  return sources;
}

void merge(scf::ForOp loop) {
  bool isOverRanks = loop->hasAttr(device::kOverRanksAttr) && loop.getNumResults() == 0 &&
                     getConstantIntValue(loop.getStep()) == 1;
  NotifyOp notify = isOverRanks ? lastNotifyOf(loop) : nullptr;
  auto sources = notify ? sourcesOf(notify, loop) : std::nullopt;
  if (!sources)
    return;
  OpBuilder b(loop->getContext());
  b.setInsertionPointAfter(loop);
  auto each = b.create<NotifyEachOp>(notify.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                                     notify.getScope());
  Block &body = each.getBody().emplaceBlock();
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), body.addArgument(b.getIndexType(), loop.getLoc()));
  b.setInsertionPointToStart(&body);
  for (Operation *source : *sources)
    b.clone(*source, mapping);
  cast<NotifyOp>(b.clone(*notify, mapping)).setRelaxed(true);
  notify.erase();
  bool isEmpty = llvm::all_of(loop.getBody()->without_terminator(),
                              [](Operation &op) { return isMemoryEffectFree(&op); });
  if (isEmpty)
    loop.erase();
}

class MergeNotifies : public impl::MergeNotifiesBase<MergeNotifies> {
public:
  using MergeNotifiesBase::MergeNotifiesBase;

private:
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    llvm::for_each(loops, merge);
  }
};

} // namespace
} // namespace ditron::gpu
