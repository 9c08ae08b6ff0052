// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/warpspec/FillAhead.h"
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "ditron/targets/nvidia/warpspec/Producer.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace ditron::nvidia {

namespace {

/// What the producer does for one slot.
struct Fill {
  AcquireOp acquire;
  SmallVector<TmaLoadOp> loads, constants;
  int64_t bytes = 0; ///< of constants

  scf::ForOp loop() { return cast<scf::ForOp>(acquire->getParentOp()); }
};

int64_t bytesOf(TmaLoadOp load) {
  RankedTensorType tile = load.getPipe().getType().getTiles()[load.getTile()];
  return tile.getNumElements() * storageBytes(tile.getElementType());
}

/// The one place where slots are filled, in a loop; none if the producer does anything else that touches
/// memory, or if CTAs share tiles.
std::optional<Fill> fillOf(Region &producer) {
  Fill fill;
  WalkResult result = producer.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (gpu::isExit(op))
      return WalkResult::skip();
    if (auto acquire = dyn_cast<AcquireOp>(op)) {
      bool isFirst = !fill.acquire && isa<scf::ForOp>(op->getParentOp());
      fill.acquire = acquire;
      return isFirst ? WalkResult::advance() : WalkResult::interrupt();
    }
    if (auto load = dyn_cast<TmaLoadOp>(op)) {
      fill.loads.push_back(load);
      return WalkResult::advance();
    }
    bool isPure = isMemoryEffectFree(op) || isa<scf::ForOp, scf::IfOp>(op);
    return isPure ? WalkResult::advance() : WalkResult::interrupt();
  });
  bool isOne = fill.acquire && llvm::all_of(fill.loads, [&](TmaLoadOp load) {
                 return load->getBlock() == fill.acquire->getBlock();
               });
  if (result.wasInterrupted() || !isOne || fill.acquire.getPipe().getType().getCtas() > 1)
    return std::nullopt;
  for (TmaLoadOp load : fill.loads)
    if (gpu::isConstant(load.getView()))
      fill.constants.push_back(load), fill.bytes += bytesOf(load);
  return fill;
}

/// A loop ends after this number of iterations at the latest.
void limit(scf::ForOp loop, int64_t iterations) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Value most =
      b.create<arith::MulIOp>(loop.getStep(), b.create<arith::ConstantIndexOp>(iterations));
  Value end = b.create<arith::AddIOp>(loop.getLowerBound(), most);
  loop.setUpperBound(b.create<arith::MinSIOp>(loop.getUpperBound(), end));
}

/// What a copy of the producer is to do ahead. Where a requirement does not hold, the producer finds that
/// out later.
void reduceToConstants(Block &block, Fill &fill, int64_t slots) {
  scf::ForOp inner = fill.loop();
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
    limit(loop, loop == inner ? slots : 1);
  OpBuilder b(fill.acquire);
  Value slot = b.create<ExpectOp>(fill.acquire.getLoc(), b.getIndexType(), fill.acquire.getPipe(),
                                  static_cast<uint64_t>(fill.bytes));
  for (TmaLoadOp load : fill.loads)
    if (!llvm::is_contained(fill.constants, load))
      load.erase();
  fill.acquire.getSlot().replaceAllUsesWith(slot);
  fill.acquire.erase();
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
  std::optional<Fill> fill = fillOf(roles.getProducer());
  if (!fill || fill->constants.empty())
    return;
  ImplicitLocOpBuilder b(roles.getLoc(), roles);
  auto ahead = b.create<AheadOp>();
  Block *block = b.createBlock(&ahead.getBody());
  IRMapping mapping;
  for (Operation &op : roles.getProducer().front())
    b.clone(op, mapping);
  Fill copied = *fillOf(ahead.getBody());
  reduceToConstants(*block, copied, fill->acquire.getPipe().getType().getSlots());
  fill->acquire.setAhead(static_cast<uint64_t>(fill->bytes));
  for (TmaLoadOp load : fill->constants)
    load.setUnlessAhead(true);
  markArguments(*fill);
}

} // namespace ditron::nvidia
