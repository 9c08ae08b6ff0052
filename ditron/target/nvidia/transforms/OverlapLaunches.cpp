// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-overlap-launches: a launch of a kernel with roles begins while the last cores of the one
// before it run. It waits for that one where it first touches memory, when its barriers are made
// and its code is loaded.
//
//   %pipe = nvidia.pipe : ...
//   nvidia.roles producer { ... } consumer { ... }
// becomes
//   %pipe = nvidia.pipe : ...
//   nvidia.follow_launches ahead { nvidia.prefetch ... }
//   nvidia.roles producer { ... } consumer { ... }
//
// Before it waits, the thread that feeds the others has the first tiles that they will need brought
// into the second-level cache, which all multiprocessors share, so that it does not matter if they
// are still being written. Those are as many as the pipe has slots for, of the first tile of the
// core; where finding them takes reading memory, there are none.
//
// Kernels of several ranks are not among them: while one waits for a peer's, which may be launched
// on the same GPU, the next would take the place of that. They let nobody begin before they end.
// test/target/nvidia/overlap-launches.mlir shows it.
#include "ditron/target/nvidia/Chip.h"
#include "ditron/target/nvidia/NvidiaOps.h"
#include "ditron/target/nvidia/transforms/Passes.h"
#include "ditron/target/nvidia/transforms/Tiles.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_OVERLAPLAUNCHES
#include "ditron/target/nvidia/transforms/Passes.h.inc"

namespace {

/// Writes what the feeding role's first fetches will be: its program up to them, in which loops of
/// tiles have one iteration, and loops that fetch as many as the pipe has slots.
class Foresight {
public:
  Foresight(RolesOp roles, FollowLaunchesOp follow)
      : producer_(roles.getProducer().front()), ahead_(follow.getAhead()), b_(follow) {}

  void run() {
    b_.createBlock(&ahead_);
    if (!clone(producer_) || !fetches_)
      ahead_.getBlocks().clear();
  }

private:
  /// False where an op is not to be executed ahead.
  bool clone(Block &block) {
    return llvm::all_of(block, [&](Operation &op) {
      if (auto fetch = dyn_cast<FetchOp>(op))
        return clone(fetch);
      if (auto loop = dyn_cast<scf::ForOp>(op))
        return clone(loop);
      if (isa<AcquireOp>(op) || op.hasTrait<OpTrait::IsTerminator>())
        return true;
      if (!isMemoryEffectFree(&op) || op.getNumRegions())
        return false;
      b_.clone(op, values_);
      return true;
    });
  }

  bool clone(FetchOp op) {
    if (op.getPage())
      return false;
    fetches_ = true;
    SmallVector<Value> coords;
    for (Value coord : op.getCoords())
      coords.push_back(values_.lookupOrDefault(coord));
    b_.create<PrefetchOp>(op.getLoc(), values_.lookupOrDefault(op.getView()), coords, op.getMap(),
                          op.getPipe(), op.getTile(), op.getShape(), op.getShared());
    return true;
  }

  bool clone(scf::ForOp loop) {
    if (loop.getNumResults())
      return false;
    auto own = loop.getBody()->getOps<FetchOp>();
    bool hasLoops = !loop.getBody()->getOps<scf::ForOp>().empty();
    int64_t most = own.empty() || hasLoops ? 1 : (*own.begin()).getPipe().getType().getSlots();
    mlir::Location loc = loop.getLoc();
    Value first = values_.lookupOrDefault(loop.getLowerBound()),
          step = values_.lookupOrDefault(loop.getStep()),
          end = values_.lookupOrDefault(loop.getUpperBound());
    Value count = b_.create<arith::ConstantIndexOp>(loc, most);
    Value last = b_.create<arith::AddIOp>(loc, first, b_.create<arith::MulIOp>(loc, step, count));
    auto copy =
        b_.create<scf::ForOp>(loc, first, b_.create<arith::MinSIOp>(loc, last, end), step);
    values_.map(loop.getInductionVar(), copy.getInductionVar());
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(copy.getBody());
    return clone(*loop.getBody());
  }

  Block &producer_;
  Region &ahead_;
  OpBuilder b_;
  IRMapping values_;
  bool fetches_ = false;
};

/// Whether an op touches no memory but that of its core.
bool isOfCore(Operation &op) {
  return isa<PipeOp, MailboxOp, GateOp, RingOp>(op) || isMemoryEffectFree(&op);
}

class OverlapLaunches : public impl::OverlapLaunchesBase<OverlapLaunches> {
public:
  using OverlapLaunchesBase::OverlapLaunchesBase;

private:
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    const Chip *chip = chipNamed(chipName, function);
    if (!chip)
      return signalPassFailure();
    if (!chip->launchesOverlap || function.getOps<RolesOp>().empty() ||
        function->hasAttr(kDistributedAttr))
      return;
    Block &body = function.front();
    Operation &first =
        *llvm::find_if(body.without_terminator(), [](Operation &op) { return !isOfCore(op); });
    auto follow = OpBuilder(&first).create<FollowLaunchesOp>(function.getLoc());
    if (auto roles = dyn_cast<RolesOp>(first))
      Foresight(roles, follow).run();
    function->setAttr(kOverlapsAttr, UnitAttr::get(&getContext()));
  }
};

} // namespace
} // namespace ditron::nvidia
