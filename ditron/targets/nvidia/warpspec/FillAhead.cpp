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
  SmallVector<TmaLoadOp> loads, constants;
  int64_t bytes = 0; ///< of constants

  int64_t slots() { return acquire.getPipe().getType().getSlots(); }
};

/// The one loop that fills slots, one of each pipe in a turn.
struct Filling {
  scf::ForOp loop;
  SmallVector<Fill, 2> fills;

  Fill *of(Value pipe) {
    Fill *found = llvm::find_if(fills, [&](Fill &fill) { return fill.acquire.getPipe() == pipe; });
    return found == fills.end() ? nullptr : found;
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
  if (gpu::isConstant(load.getView()))
    fill->constants.push_back(load), fill->bytes += bytesOf(load);
  return true;
}

/// The one place where slots are filled, in a loop; none if the producer does anything else that touches
/// memory, or if CTAs share tiles.
std::optional<Filling> fillingOf(Region &producer) {
  Filling filling;
  WalkResult result = producer.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (gpu::isExit(op))
      return WalkResult::skip();
    bool isTaken = isMemoryEffectFree(op) || isa<scf::ForOp, scf::IfOp>(op);
    if (auto acquire = dyn_cast<AcquireOp>(op))
      isTaken = take(acquire, filling);
    else if (auto load = dyn_cast<TmaLoadOp>(op))
      isTaken = take(load, filling);
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

/// Leaves of a slot what is constant.
void reduceToConstants(Fill &fill) {
  OpBuilder b(fill.acquire);
  for (TmaLoadOp load : fill.loads)
    if (!llvm::is_contained(fill.constants, load))
      load.erase();
  if (!fill.constants.empty()) {
    Value slot = b.create<ExpectOp>(fill.acquire.getLoc(), b.getIndexType(), fill.acquire.getPipe(),
                                    static_cast<uint64_t>(fill.bytes));
    fill.acquire.getSlot().replaceAllUsesWith(slot);
  }
  fill.acquire.erase();
}

/// What a copy of the producer is to do ahead. Where a requirement does not hold, the producer finds that
/// out later.
void reduceToConstants(Block &block, Filling &filling, int64_t turns) {
  SmallVector<Operation *> exits;
  SmallVector<scf::ForOp> loops;
  block.walk([&](Operation *op) {
    if (gpu::isExit(op))
      exits.push_back(op);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      loops.push_back(loop);
  });
  for (Operation *exit : exits)
    exit->erase();
  for (scf::ForOp loop : loops)
    limit(loop, loop == filling.loop ? turns : 1);
  for (Fill &fill : filling.fills)
    reduceToConstants(fill);
  eraseDead(block);
}

void markArguments(const Fill &fill) {
  for (TmaLoadOp load : fill.constants) {
    BlockArgument argument = gpu::rootOf(load.getView());
    cast<func::FuncOp>(argument.getOwner()->getParentOp())
        .setArgAttr(argument.getArgNumber(), gpu::kReadAheadAttr, UnitAttr::get(load.getContext()));
  }
}

} // namespace

void fillAhead(RolesOp roles) {
  auto function = roles->getParentOfType<func::FuncOp>();
  if (function->hasAttr(gpu::kDistributedAttr) || gpu::isRegion(function))
    return;
  std::optional<Filling> filling = fillingOf(roles.getProducer());
  if (!filling)
    return;
  int64_t turns = INT64_MAX;
  bool hasConstants = false;
  for (Fill &fill : filling->fills) {
    turns = std::min(turns, fill.slots());
    hasConstants |= !fill.constants.empty();
  }
  if (!hasConstants)
    return;
  ImplicitLocOpBuilder b(roles.getLoc(), roles);
  auto ahead = b.create<AheadOp>();
  Block *block = b.createBlock(&ahead.getBody());
  IRMapping mapping;
  for (Operation &op : roles.getProducer().front())
    b.clone(op, mapping);
  Filling copied = *fillingOf(ahead.getBody());
  reduceToConstants(*block, copied, turns);
  for (Fill &fill : filling->fills) {
    if (fill.constants.empty())
      continue;
    fill.acquire.setAhead(static_cast<uint64_t>(fill.bytes));
    for (TmaLoadOp load : fill.constants)
      load.setUnlessAhead(true);
    markArguments(fill);
  }
}

} // namespace ditron::nvidia
