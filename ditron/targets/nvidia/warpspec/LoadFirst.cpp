// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvidia-load-first: tiles that loops load beside streamed rows come before their first step.
//
//   %s = scf.for %k = %c0 to %c2 step %c1 iter_args(%sum = %zero) {
//     %x = tile.load %X[%k]
//     %w = nvidia.receive_rows %W[%j, %k] from %ring
//     %d = nvidia.sliced_dot %w, %x, %sum
//     scf.yield %d
//   }
// becomes
//   %x0 = tile.load %X[%c0];  %x1 = tile.load %X[%c1]
//   %w0 = nvidia.receive_rows %W[%j, %c0] from %ring
//   %d0 = nvidia.sliced_dot %w0, %x0, %zero
//   %w1 = ...
//
// Rows are there, %x takes a trip to memory in each step; now all take one together, and one wait where %X says what
// is there (simt-await-elements). Loops of few steps are taken, whose loads a thread has registers for; and loads of few
// bytes: all SMs look for the same ones at a time, again and again until they are there.
// test/targets/nvidia/load-first.mlir shows it.
#include "ditron/targets/gpu/analysis/LayoutRelations.h"
#include "ditron/targets/nvidia/analysis/Roles.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace ditron::nvidia {

#define GEN_PASS_DEF_LOADFIRST
#include "ditron/targets/nvidia/transforms/Passes.h.inc"

namespace {

/// A loop that multiplies what it loads by streamed rows.
class Streaming {
public:
  explicit Streaming(scf::ForOp loop) : loop_(loop) {}

  bool isOfFewSteps() {
    std::optional<int64_t> first = getConstantIntValue(loop_.getLowerBound()),
                           end = getConstantIntValue(loop_.getUpperBound()),
                           step = getConstantIntValue(loop_.getStep());
    // A step loads a byte or more.
    auto isSmall = [](std::optional<int64_t> n) { return n && *n >= 0 && *n <= kMost; };
    if (!isSmall(first) || !isSmall(end) || !isSmall(step) || *step == 0 || !collect())
      return false;
    for (int64_t n = *first; n < *end; n += *step)
      numbers_.push_back(n);
    auto steps = static_cast<int64_t>(numbers_.size());
    return steps > 1 && steps * threadBytes_ <= kMostOfThread && steps * bytes_ <= kMost;
  }

  void unroll() {
    OpBuilder b(loop_);
    SmallVector<IRMapping> steps(numbers_.size());
    for (auto [number, step] : llvm::zip_equal(numbers_, steps)) {
      step.map(loop_.getInductionVar(),
               b.create<arith::ConstantIndexOp>(loop_.getLoc(), number).getResult());
      for (Operation *op : early_)
        b.clone(*op, step);
    }
    SmallVector<Value> carried(loop_.getInitArgs());
    for (IRMapping &step : steps) {
      step.map(loop_.getRegionIterArgs(), carried);
      for (Operation &op : loop_.getBody()->without_terminator())
        if (!llvm::is_contained(early_, &op))
          b.clone(op, step);
      carried = llvm::map_to_vector(loop_.getYieldedValues(),
                                    [&](Value value) { return step.lookupOrDefault(value); });
    }
    loop_.replaceAllUsesWith(carried);
    loop_.erase();
  }

private:
  /// Bytes of the loads of all steps: a quarter of a consumer's registers, and what takes as long to look for as it does
  /// to ask.
  static constexpr int64_t kMostOfThread = 256, kMost = 16 * 1024;

  /// The loads that come first, with what they follow from. Nothing in the loop may come to be between others.
  bool collect() {
    bool streams = false;
    for (Operation &op : loop_.getBody()->without_terminator()) {
      streams |= isa<ReceiveRowsOp>(op);
      if (op.getNumRegions() > 0 ||
          !(isMemoryEffectFree(&op) || isa<core::LoadOp, ReceiveRowsOp>(op)))
        return false;
      if (auto load = dyn_cast<core::LoadOp>(op); load && !take(load))
        return false;
    }
    return streams && bytes_ > 0;
  }

  bool take(core::LoadOp load) {
    RankedTensorType tile = gpu::tileOf(load.getTile());
    SmallVector<Operation *> needed;
    if (!tile.getEncoding() || gpu::isShared(tile) || !findNeeded(load, needed))
      return false;
    for (Operation *op : needed)
      if (!llvm::is_contained(early_, op))
        early_.push_back(op);
    early_.push_back(load);
    int64_t element = core::elementBytes(tile.getElementType());
    threadBytes_ += gpu::registersOf(tile, core::layoutOf(tile)) * element;
    bytes_ += tile.getNumElements() * element;
    return true;
  }

  /// The numbers in the loop that a load follows from, in their order.
  bool findNeeded(Operation *op, SmallVector<Operation *> &needed) {
    for (Value value : op->getOperands()) {
      if (loop_.isDefinedOutsideOfLoop(value) || value == loop_.getInductionVar())
        continue;
      Operation *made = value.getDefiningOp();
      if (!made || !isMemoryEffectFree(made) || !findNeeded(made, needed))
        return false;
      needed.push_back(made);
    }
    return true;
  }

  scf::ForOp loop_;
  SmallVector<int64_t> numbers_; ///< of the steps
  SmallVector<Operation *> early_;
  int64_t threadBytes_ = 0, bytes_ = 0; ///< of the loads of a step: that a thread holds, and all
};

class LoadFirst : public impl::LoadFirstBase<LoadFirst> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (Streaming streaming(loop); streaming.isOfFewSteps())
        streaming.unroll();
  }
};

} // namespace
} // namespace ditron::nvidia
