// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/warpspec/DeferNotifies.h"
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/nvidia/analysis/Sends.h"
#include "ditron/targets/nvidia/analysis/TensorViews.h"
#include "ditron/targets/nvidia/transforms/Passes.h"

using namespace mlir;

namespace ditron::nvidia {

static bool canDefer(Operation *op) {
  auto notify = dyn_cast<NotifyOp>(op);
  return notify && !notify.getRelaxed() && notify.getMode() == "add";
}

/// A notify for each of several ranks becomes a loop: the notifier's second release finds nothing left to wait for.
static void loopOverNotifies(NotifyEachOp each) {
  WalkResult adds = each.walk([](NotifyOp notify) {
    return notify.getMode() == "add" ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (adds.wasInterrupted())
    return;
  OpBuilder b(each);
  Value one = b.create<arith::ConstantIndexOp>(each.getLoc(), 1);
  auto loop = b.create<scf::ForOp>(each.getLoc(), each.getLower(), each.getUpper(), one);
  Block &body = each.getBody().front();
  body.getArgument(0).replaceAllUsesWith(loop.getInductionVar());
  loop.getBody()->getOperations().splice(loop.getBody()->getTerminator()->getIterator(),
                                         body.getOperations());
  loop.walk([](NotifyOp notify) { notify.setRelaxed(false); });
  each.erase();
}

/// Whether an op is in the branch of a condition.
static bool isWhere(Value condition, Operation *op) {
  for (auto branch = op->getParentOfType<scf::IfOp>(); branch;
       branch = branch->getParentOfType<scf::IfOp>())
    if (branch.getCondition() == condition &&
        branch.getThenRegion().isAncestor(op->getParentRegion()))
      return true;
  return false;
}

/// Whether `first` is executed before `op` whenever `op` is.
static bool comesBefore(Operation *first, Operation *op) {
  Operation *place = first->getBlock()->findAncestorOpInBlock(*op);
  if (place && place != first)
    return first->isBeforeInBlock(place);
  auto branch = dyn_cast<scf::IfOp>(first->getParentOp());
  return !place && branch && first->getBlock() == branch.thenBlock() &&
         isWhere(branch.getCondition(), op) && comesBefore(branch, op);
}

/// Where the consumer has stored the tile that `store` stores to a peer, packed alike, and where it
/// stays; null: nowhere.
static core::StoreOp storedBefore(core::StoreOp store) {
  if (!store->hasAttr(device::kPackedAttr) || !gpu::isOnPeer(store.getView()))
    return nullptr;
  for (Operation *user : store.getTile().getUsers()) {
    auto local = dyn_cast<core::StoreOp>(user);
    bool stays = local && local->hasAttr(device::kPackedAttr) &&
                 local->hasAttr(device::kStoredOnceAttr) && !gpu::isOnPeer(local.getView());
    if (stays && comesBefore(local, store))
      return local;
  }
  return nullptr;
}

/// How many peers a tile goes to in a row: those of the loop that does nothing else.
static int64_t peersOf(core::StoreOp store) {
  auto loop = dyn_cast<scf::ForOp>(store->getParentOp());
  bool isAlone = loop && llvm::all_of(*loop.getBody(), [&](Operation &op) {
                   return &op == store || isMemoryEffectFree(&op);
                 });
  if (!isAlone)
    return 1;
  auto first = getConstantIntValue(loop.getLowerBound()),
       end = getConstantIntValue(loop.getUpperBound());
  if (!first || !end || getConstantIntValue(loop.getStep()) != 1 || *end - *first > kMostCopies)
    return 1;
  return *end - *first;
}

/// Whether an op lets others see what the consumer has done.
static bool releases(Operation *op) { return needsCompleteStores(op) && !isa<MoveOp>(op); }

int64_t outboxBytes(func::FuncOp function, Operation *first) {
  constexpr int64_t kOutbox = 1024; // as pieces of shared memory are rounded
  bool hasSome = false;
  for (Operation *op = first; op; op = op->getNextNode())
    op->walk([&](Operation *inner) { hasSome |= canDefer(inner); });
  return hasSome && !mayEndEarly(function, first) ? kOutbox : 0;
}

/// What the kernel sends before it computes becomes the notifier's, a warp then. What releases in the consumer
/// waits for that as for a post.
static bool sendBesideProducts(RolesOp roles, Value outbox, Block *notifier) {
  Operation *sends =
      sendsAhead(roles->getParentOfType<func::FuncOp>(), &roles.getConsumer().front().front());
  if (!sends)
    return false;
  sends->moveBefore(notifier, notifier->end());
  SmallVector<Operation *> ops;
  sends->walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    OpBuilder b(op);
    if (auto move = dyn_cast<MoveOp>(op))
      b.create<WarpMoveOp>(op->getLoc(), move.getSource(), move.getDestination());
    else if (auto notify = dyn_cast<NotifyOp>(op))
      b.create<WarpNotifyOp>(op->getLoc(), notify.getCell(), notify.getValue(), notify.getScope());
    else
      continue;
    op->erase();
  }
  OpBuilder::atBlockBegin(&roles.getConsumer().front()).create<PostMarkOp>(roles.getLoc(), outbox);
  return true;
}

void deferNotifies(RolesOp roles, ImplicitLocOpBuilder &b) {
  Value outbox = b.create<OutboxOp>(OutboxType::get(b.getContext()));
  SmallVector<NotifyOp> notifies;
  SmallVector<Operation *> others;
  SmallVector<core::StoreOp> moves;
  SmallVector<NotifyEachOp> several;
  roles.getConsumer().walk([&](NotifyEachOp each) { several.push_back(each); });
  llvm::for_each(several, loopOverNotifies);
  Block *notifier = &roles.getNotifier().emplaceBlock();
  bool isWarp = sendBesideProducts(roles, outbox, notifier);
  roles.getConsumer().walk([&](Operation *op) {
    if (auto store = dyn_cast<core::StoreOp>(op); store && storedBefore(store))
      moves.push_back(store);
    else if (canDefer(op))
      notifies.push_back(cast<NotifyOp>(op));
    else if (releases(op))
      others.push_back(op);
  });
  StringRef scope = "gpu";
  for (NotifyOp notify : notifies) {
    if (notify.getScope() == "sys")
      scope = "sys";
    OpBuilder(notify).create<PostOp>(notify.getLoc(), outbox, notify.getCell(), notify.getValue());
    notify.erase();
  }
  for (core::StoreOp store : moves) {
    core::StoreOp local = storedBefore(store);
    OpBuilder(store).create<PostMoveOp>(store.getLoc(), outbox, local.getView(), local.getCoords(),
                                        store.getView(), store.getCoords(),
                                        store.getTile().getType(), peersOf(store));
    store.erase();
  }
  for (Operation *op : others)
    OpBuilder(op).create<FlushOp>(op->getLoc(), outbox);
  OpBuilder::atBlockEnd(&roles.getConsumer().front()).create<CloseOp>(roles.getLoc(), outbox);
  OpBuilder::atBlockEnd(notifier).create<NotifyPostsOp>(roles.getLoc(), outbox, scope,
                                                        isWarp || !moves.empty());
}

} // namespace ditron::nvidia
