// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-order-accesses: what a core writes and then reads goes from thread to thread.
//
//   tile.store %x, %T[%i] : tensor<1024xf32, #wide>, ...
//   %y = tile.load %T[%j] : ... -> tensor<64xf32, #narrow>
// becomes
//   tile.store %x, %T[%i] : tensor<1024xf32, #wide>, ...
//   simt.sync "cta"
//   %y = tile.load %T[%j] : ... -> tensor<64xf32, #narrow>
//
// The threads of a CTA meet between two accesses of the same memory, one of which writes, unless something on
// every way from the one to the other has them meet already: a wait, a notify, a copy. Tiles of one shape and
// layout of one view need nothing: each of their elements belongs to one thread. All threads read words. What the producer of a kernel
// with roles loads is left alone: it waits at gates (nvidia-specialize-warps).
// test/targets/gpu/order-accesses.mlir shows it.
#include "ditron/core/Memories.h"
#include "ditron/core/TileOps.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_ORDERACCESSES
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// Whether all threads that compute meet at an op.
bool meets(Operation *op) {
  if (auto notify = dyn_cast<NotifyOp>(op))
    return !notify.getRelaxed();
  return isa<SyncOp, WaitOp, MeetOp, MoveOp, NotifyEachOp>(op);
}

/// Whether there is a way from one op to another one on which the threads do not meet.
class Ways {
public:
  explicit Ways(Operation *from) : from_(from) {}
  bool reach(Operation *to) { return reachFrontOf(to); }

private:
  /// Backwards from an op.
  bool reachFrontOf(Operation *op) {
    for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
      if (before == from_ || (before->isProperAncestor(from_) && reachEndOf(before)))
        return true;
      if (meets(before))
        return false;
    }
    Operation *parent = op->getParentOp();
    if (isa<func::FuncOp>(parent))
      return false;
    bool isLoop = isa<LoopLikeOpInterface>(parent);
    if (isLoop && around_.insert(parent).second && parent->isProperAncestor(from_) &&
        reachEndOf(parent))
      return true;
    return reachFrontOf(parent);
  }

  /// Backwards from the end of the block of an op that has the first op in it.
  bool reachEndOf(Operation *op) {
    Block *block = from_->getBlock();
    while (block->getParentOp() != op)
      block = block->getParentOp()->getBlock();
    if (!ends_.insert(block).second)
      return false;
    Operation *last = &block->back();
    return last == from_ || (last->isProperAncestor(from_) && reachEndOf(last)) ||
           (!meets(last) && reachFrontOf(last));
  }

  Operation *from_;
  llvm::DenseSet<Operation *> around_; ///< loops that were gone around
  llvm::DenseSet<Block *> ends_;       ///< blocks that were entered from behind
};

/// An access to memory, of a tile or a word.
struct Access {
  Operation *op;
  Value view;
  RankedTensorType tile;
  bool writes;
};

std::optional<Access> accessOf(Operation *op) {
  if (auto load = dyn_cast<core::LoadOp>(op))
    return Access{op, load.getView(), tileOf(load.getTile()), false};
  if (auto store = dyn_cast<core::StoreOp>(op))
    return Access{op, store.getView(), tileOf(store.getTile()), true};
  if (auto word = dyn_cast<memref::LoadOp>(op))
    return Access{op, word.getMemRef(), nullptr, false};
  if (auto gather = dyn_cast<core::GatherOp>(op))
    return Access{op, gather.getView(), nullptr, false};
  if (auto scatter = dyn_cast<core::ScatterOp>(op))
    return Access{op, scatter.getView(), nullptr, true};
  if (auto atomic = dyn_cast<core::AtomicAddOp>(op))
    return Access{op, atomic.getView(), nullptr, true};
  return std::nullopt;
}

/// Whether each element of both is one thread's, or both are atomic. Of threads that have the same elements one
/// writes.
bool needNoOrder(const Access &x, const Access &y) {
  if ((!x.writes && !y.writes) || (isa<core::AtomicAddOp>(x.op) && isa<core::AtomicAddOp>(y.op)))
    return true;
  bool isAlike =
      x.tile && x.tile == y.tile && core::areAlike(x.view, y.view) && x.tile.getEncoding();
  return isAlike && ((x.writes && y.writes) || core::layoutOf(x.tile).replication().empty());
}

class OrderAccesses : public impl::OrderAccessesBase<OrderAccesses> {
  void runOnOperation() override {
    llvm::MapVector<core::Memory, SmallVector<Access>> memories;
    getOperation().walk([&](Operation *op) {
      if (std::optional<Access> access = accessOf(op))
        for (const core::Memory &memory : core::memoriesOf(access->view))
          memories[memory].push_back(*access);
    });
    for (const auto &[memory, accesses] : memories) {
      if (llvm::any_of(accesses, [](const Access &access) { return access.writes; }))
        order(accesses);
    }
  }

  static void order(ArrayRef<Access> accesses) {
    for (const Access &second : accesses)
      for (const Access &first : accesses)
        if (!needNoOrder(first, second) && Ways(first.op).reach(second.op)) {
          OpBuilder(second.op).create<SyncOp>(second.op->getLoc(), "cta");
          break;
        }
  }
};

} // namespace
} // namespace ditron::gpu
