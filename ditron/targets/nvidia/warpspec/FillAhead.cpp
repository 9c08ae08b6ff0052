// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/warpspec/FillAhead.h"
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "ditron/targets/nvidia/warpspec/Pipe.h"
#include "ditron/targets/nvidia/warpspec/Producer.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <algorithm>

using namespace mlir;

namespace ditron::nvidia {

namespace {

/// What the producer does for one slot of a pipe.
struct Fill {
  AcquireOp acquire;
  SmallVector<TmaLoadOp> loads, early;
  int64_t bytes = 0; ///< of the early ones, which come ahead

  int64_t slots() { return acquire.getPipe().getType().getSlots(); }
};

using IsEarly = bool (*)(Value view);

/// The one loop that fills slots, one of each pipe in a turn.
struct Filling {
  IsEarly isEarly; ///< says which tiles may come ahead
  scf::ForOp loop = {};
  SmallVector<Fill, 2> fills = {};
  bool isBehindWaits = false; ///< of the launch itself, and not only of the one in front of it

  Fill *of(Value pipe) {
    Fill *found = llvm::find_if(fills, [&](Fill &fill) { return fill.acquire.getPipe() == pipe; });
    return found == fills.end() ? nullptr : found;
  }
  bool hasEarly() {
    return llvm::any_of(fills, [](Fill &fill) { return !fill.early.empty(); });
  }
  /// In how many turns there is a slot of each pipe.
  int64_t turns() {
    int64_t least = INT64_MAX;
    for (Fill &fill : fills)
      least = std::min(least, fill.slots());
    return least;
  }
};

int64_t bytesOf(TmaLoadOp load) {
  return broughtBytes(load.getPipe().getType().getTiles()[load.getTile()]);
}

/// Whether this is the first slot of its pipe that is acquired, in the one loop.
bool take(AcquireOp acquire, Filling &filling) {
  auto loop = dyn_cast<scf::ForOp>(acquire->getParentOp());
  bool isFirst = !filling.loop || filling.loop == loop;
  if (!loop || !isFirst || filling.of(acquire.getPipe()) ||
      acquire.getPipe().getType().getCtas() > 1)
    return false;
  filling.loop = loop;
  filling.fills.push_back({acquire, {}, {}});
  return true;
}

/// Whether a slot of the pipe was acquired for it, in the same turn.
bool take(TmaLoadOp load, Filling &filling) {
  Fill *fill = filling.of(load.getPipe());
  if (!fill || load->getBlock() != fill->acquire->getBlock())
    return false;
  fill->loads.push_back(load);
  if (filling.isEarly(load.getView()) && !load.getRows())
    fill->early.push_back(load), fill->bytes += bytesOf(load);
  return true;
}

bool waits(Operation *op) { return isa<WaitOp, GateWaitOp>(op); }

/// The one place where slots are filled, in a loop; none if the producer does anything else that touches
/// memory but to wait, or if CTAs share tiles.
std::optional<Filling> fillingOf(Region &producer, IsEarly isEarly) {
  Filling filling{isEarly};
  WalkResult result = producer.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (gpu::isExit(op))
      return WalkResult::skip();
    bool isTaken = isMemoryEffectFree(op) || waits(op) || isa<scf::ForOp, scf::IfOp>(op);
    if (auto acquire = dyn_cast<AcquireOp>(op))
      isTaken = take(acquire, filling);
    else if (auto load = dyn_cast<TmaLoadOp>(op))
      isTaken = take(load, filling);
    filling.isBehindWaits |= waits(op) && filling.fills.empty();
    return isTaken ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (result.wasInterrupted() || filling.fills.empty())
    return std::nullopt;
  return filling;
}

/// A loop ends after this number of iterations at the latest.
void limit(scf::ForOp loop, int64_t iterations) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Value most =
      b.create<arith::MulIOp>(loop.getStep(), b.create<arith::ConstantIndexOp>(iterations));
  Value end = b.create<arith::AddIOp>(loop.getLowerBound(), most);
  loop.setUpperBound(b.create<arith::MinSIOp>(loop.getUpperBound(), end));
}

/// Leaves of a slot what comes ahead.
void reduceToEarly(Fill &fill) {
  OpBuilder b(fill.acquire);
  for (TmaLoadOp load : fill.loads)
    if (!llvm::is_contained(fill.early, load))
      load.erase();
  if (!fill.early.empty()) {
    Value slot = b.create<ExpectOp>(fill.acquire.getLoc(), b.getIndexType(), fill.acquire.getPipe(),
                                    static_cast<uint64_t>(fill.bytes));
    fill.acquire.getSlot().replaceAllUsesWith(slot);
  }
  fill.acquire.erase();
}

/// What a copy of the producer is to do ahead. Where a requirement does not hold, the producer finds that
/// out later.
void reduceToEarly(Block &block, Filling &filling) {
  int64_t turns = filling.turns();
  SmallVector<Operation *> left;
  SmallVector<scf::ForOp> loops;
  block.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (gpu::isExit(op) || waits(op)) {
      left.push_back(op);
      return WalkResult::skip();
    }
    if (auto loop = dyn_cast<scf::ForOp>(op))
      loops.push_back(loop);
    return WalkResult::advance();
  });
  for (Operation *op : left)
    op->erase();
  for (scf::ForOp loop : loops)
    limit(loop, loop == filling.loop ? turns : 1);
  for (Fill &fill : filling.fills)
    reduceToEarly(fill);
  eraseDead(block);
}

/// Writes what the producer does ahead, in front of the roles.
void writeAhead(RolesOp roles, IsEarly isEarly) {
  ImplicitLocOpBuilder b(roles.getLoc(), roles);
  auto ahead = b.create<AheadOp>();
  Block *block = b.createBlock(&ahead.getBody());
  IRMapping mapping;
  for (Operation &op : roles.getProducer().front())
    b.clone(op, mapping);
  Filling copied = *fillingOf(ahead.getBody(), isEarly);
  reduceToEarly(*block, copied);
}

/// Constants, or, where the producer of a kernel of several ranks waits for others, all that the launch does not
/// write.
IsEarly earlyOf(func::FuncOp function) {
  return function->hasAttr(gpu::kDistributedAttr) ? gpu::isReadOnly : gpu::isConstant;
}

std::optional<Filling> earlyFilling(RolesOp roles, bool isDistributed) {
  auto filling = fillingOf(roles.getProducer(), earlyOf(roles->getParentOfType<func::FuncOp>()));
  bool isLate = filling && (filling->isBehindWaits || !isDistributed);
  return isLate && filling->hasEarly() ? filling : std::nullopt;
}

/// Marks what is read before the launches in front of a kernel have ended.
void markArguments(const Fill &fill) {
  for (TmaLoadOp load : fill.early) {
    BlockArgument argument = gpu::rootOf(load.getView());
    cast<func::FuncOp>(argument.getOwner()->getParentOp())
        .setArgAttr(argument.getArgNumber(), gpu::kReadAheadAttr, UnitAttr::get(load.getContext()));
  }
}

} // namespace

bool mayComeAhead(func::FuncOp function, Value view) { return earlyOf(function)(view); }

bool fillAhead(RolesOp roles) {
  auto function = roles->getParentOfType<func::FuncOp>();
  if (gpu::isRegion(function))
    return false;
  bool isDistributed = function->hasAttr(gpu::kDistributedAttr);
  std::optional<Filling> filling = earlyFilling(roles, isDistributed);
  if (!filling)
    return false;
  writeAhead(roles, filling->isEarly);
  for (Fill &fill : filling->fills) {
    if (fill.early.empty())
      continue;
    fill.acquire.setAhead(static_cast<uint64_t>(fill.bytes));
    for (TmaLoadOp load : fill.early)
      load.setUnlessAhead(true);
    if (!isDistributed)
      markArguments(fill);
  }
  return true;
}

} // namespace ditron::nvidia
