// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-pipeline-loads: software pipelining. Tiles that a loop reads into shared memory are
// prefetched some iterations ahead.
//
//   scf.for %k = %0 to %n step %1 {
//     %a = tile.load %A[%i, %k] : ... -> tensor<128x64xbf16, #shared>
//     use(%a)
//   }
// becomes, with 3 stages,
//   %ring = simt.ring : !simt.ring<3 of tensor<128x64xbf16, #shared>>
//   simt.await 0                                               // the slots are free
//   simt.copy %A[%i, %0] to %ring[0] if (%0 < %n);     simt.commit
//   simt.copy %A[%i, %0 + %1] to %ring[1] if (...);    simt.commit
//   scf.for %k = %0 to %n step %1 iter_args(%slot = 0) {
//     simt.await 1                                             // %slot is filled, the one before
//     is free simt.copy %A[%i, %k + 2 * %1] to %ring[%slot + 2 mod 3] if (%k + 2 * %1 < %n);
//     simt.commit %a = simt.slot %ring[%slot] use(%a)
//   }
//
// A chip whose copies go through registers has no use for a ring. What the next iteration reads is on its way to registers
// while this one computes, and goes to shared memory, where there is one tile of each, at its beginning:
//
//   %first = simt.fetch %A[%i, %0] as tensor<128x64xbf16, #registers> : ... -> vector<16xi32>
//   scf.for %k = %0 to %n step %1 iter_args(%now = %first) {
//     simt.await 0                                             // all threads have read what was there
//     %a = simt.place %now : vector<16xi32> -> tensor<128x64xbf16, #shared>
//     simt.await 0
//     %next = simt.fetch %A[%i, %k + %1] ...                   // zeros behind the last
//     use(%a)
//     scf.yield %next
//   }
//
// There is one barrier an iteration of a ring: behind it all threads see what was prefetched, and have left
// the slot that is filled next. Loops that write memory are left alone, and so are loads whose
// coordinates are not computed from the loop's counter alone.
// test/targets/gpu/pipeline-loads.mlir shows it.
#include "ditron/support/Error.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include <map>

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_PIPELINELOADS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

int64_t bytesOf(RankedTensorType tile) {
  return tile.getNumElements() * storageBytes(tile.getElementType());
}

/// A load of a loop, and the ops of the body that its coordinates take.
struct Candidate {
  core::LoadOp load;
  llvm::SetVector<Operation *> slice;
};

/// What computes the coordinates from the loop's counter and from outside; no value where it is
/// more than that.
std::optional<Candidate> candidate(scf::ForOp loop, core::LoadOp load) {
  if (!isShared(tileOf(load.getTile())) || load->getBlock() != loop.getBody() ||
      !loop.isDefinedOutsideOfLoop(load.getView()))
    return std::nullopt;
  if (load.getPadding() &&
      *load.getPadding() != OpBuilder(load).getZeroAttr(tileOf(load.getTile()).getElementType()))
    return std::nullopt;
  Candidate result{load, {}};
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  for (Value coord : load.getCoords())
    if (Operation *op = coord.getDefiningOp(); op && loop->isProperAncestor(op)) {
      getBackwardSlice(op, &result.slice, options);
      result.slice.insert(op);
    }
  auto isFine = [&](Value value) {
    return loop.isDefinedOutsideOfLoop(value) || value == loop.getInductionVar() ||
           (value.getDefiningOp() && result.slice.contains(value.getDefiningOp()));
  };
  for (Operation *op : result.slice)
    if (!isMemoryEffectFree(op) || !llvm::all_of(op->getOperands(), isFine))
      return std::nullopt;
  if (!llvm::all_of(load.getCoords(), isFine))
    return std::nullopt;
  return result;
}

/// Whether an op of tiles, of CTAs and ranks or of a target writes memory; what notes that a
/// requirement fails does not count.
bool writes(Operation *op) {
  return op->getNumRegions() == 0 &&
         !isa_and_present<LLVM::LLVMDialect, memref::MemRefDialect>(op->getDialect()) &&
         hasEffect<MemoryEffects::Write>(op);
}

bool writesMemory(scf::ForOp loop) {
  WalkResult result = loop.getBody()->walk(
      [&](Operation *op) { return writes(op) ? WalkResult::interrupt() : WalkResult::advance(); });
  return result.wasInterrupted();
}

/// A loop and its loads, of which later iterations' are put in front of them.
class Ahead {
protected:
  Ahead(scf::ForOp loop, SmallVector<Candidate> loads)
      : loop_(loop), loads_(std::move(loads)), b_(loop.getLoc(), loop) {}

  Value index(int64_t value) { return b_.create<arith::ConstantIndexOp>(value); }

  /// The counter a number of iterations after one.
  Value iteration(Value counter, int64_t count) {
    Value by = b_.createOrFold<arith::MulIOp>(loop_.getStep(), index(count));
    return b_.createOrFold<arith::AddIOp>(counter, by);
  }

  /// Where a load reads with this counter.
  SmallVector<Value> coordsAt(const Candidate &one, Value counter) {
    IRMapping mapping;
    mapping.map(loop_.getInductionVar(), counter);
    for (Operation *op : one.slice)
      b_.clone(*op, mapping);
    SmallVector<Value> coords;
    for (Value coord : core::LoadOp(one.load).getCoords())
      coords.push_back(mapping.lookupOrDefault(coord));
    return coords;
  }

  scf::ForOp loop_;
  SmallVector<Candidate> loads_;
  ImplicitLocOpBuilder b_;
};

class Pipeline : Ahead {
public:
  Pipeline(scf::ForOp loop, SmallVector<Candidate> loads, int64_t stages)
      : Ahead(loop, std::move(loads)), stages_(stages) {}

  void build() {
    for (Candidate &one : loads_)
      rings_.push_back(
          b_.create<RingOp>(RingType::get(b_.getContext(), stages_, tileOf(one.load.getTile()))));
    b_.create<AwaitOp>(0);
    for (int64_t stage = 0; stage + 1 < stages_; ++stage)
      prefetch(iteration(loop_.getLowerBound(), stage), index(stage));
    IRRewriter rewriter(b_.getContext());
    rewriter.setInsertionPoint(loop_);
    (void)loop_.replaceWithAdditionalYields(
        rewriter, index(0), /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &, mlir::Location, ArrayRef<BlockArgument> arguments) {
          return SmallVector<Value>{buildBody(arguments.back())};
        });
  }

private:
  /// The slot `count` slots after one; both are below the number of slots.
  Value slotAfter(Value slot, int64_t count) {
    Value sum = b_.create<arith::AddIOp>(slot, index(count));
    Value wraps = b_.create<arith::CmpIOp>(arith::CmpIPredicate::sge, sum, index(stages_));
    Value wrapped = b_.create<arith::SubIOp>(sum, index(stages_));
    return b_.create<arith::SelectOp>(wraps, wrapped, sum);
  }

  /// Begins to copy what an iteration reads, if there is such an iteration.
  void prefetch(Value counter, Value slot) {
    Value exists =
        b_.create<arith::CmpIOp>(arith::CmpIPredicate::slt, counter, loop_.getUpperBound());
    for (auto [one, ring] : llvm::zip(loads_, rings_))
      b_.create<CopyOp>(one.load.getView(), coordsAt(one, counter), ring, slot, exists);
    b_.create<CommitOp>();
  }

  /// Rewrites the body, which is still the old loop's; the slot of the next iteration.
  Value buildBody(Value slot) {
    b_.setInsertionPointToStart(loop_.getBody());
    b_.create<AwaitOp>(stages_ - 2);
    prefetch(iteration(loop_.getInductionVar(), stages_ - 1), slotAfter(slot, stages_ - 1));
    SmallVector<Value> tiles;
    for (auto [one, ring] : llvm::zip(loads_, rings_))
      tiles.push_back(b_.create<SlotOp>(one.load.getTile().getType(), ring, slot));
    for (auto [one, tile] : llvm::zip(loads_, tiles)) {
      one.load.getTile().replaceAllUsesWith(tile);
      one.load.erase();
    }
    b_.setInsertionPoint(loop_.getBody()->getTerminator());
    return slotAfter(slot, 1);
  }

  int64_t stages_;
  SmallVector<Value> rings_;
};

/// The tile of a load as threads fetch it.
RankedTensorType fetchedTile(core::LoadOp load, Threads threads) {
  RankedTensorType tile = tileOf(load.getTile());
  int64_t width = accessBytes(load.getView()) / storageBytes(tile.getElementType());
  return core::withLayout(tile, blocked(shapeOf(tile), std::max<int64_t>(1, width), threads));
}
int64_t bytesOfThread(RankedTensorType tile) {
  return core::layoutOf(tile).limit(Axis::reg) * storageBytes(tile.getElementType());
}

/// What the next iteration reads is on its way to registers.
class RegisterPipeline : Ahead {
public:
  RegisterPipeline(scf::ForOp loop, SmallVector<Candidate> loads, Threads threads)
      : Ahead(loop, std::move(loads)) {
    for (const Candidate &one : loads_)
      fetched_.push_back(fetchedTile(one.load, threads));
  }

  void build() {
    IRRewriter rewriter(b_.getContext());
    SmallVector<Value> first = fetchAll(loop_.getLowerBound());
    rewriter.setInsertionPoint(loop_);
    (void)loop_.replaceWithAdditionalYields(
        rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &, mlir::Location, ArrayRef<BlockArgument> arguments) {
          return buildBody(arguments.take_back(loads_.size()));
        });
  }

private:
  SmallVector<Value> fetchAll(Value counter) {
    SmallVector<Value> words;
    for (auto [one, tile] : llvm::zip(loads_, fetched_)) {
      auto type = VectorType::get({bytesOfThread(tile) / 4}, b_.getI32Type());
      words.push_back(b_.create<FetchOp>(type, one.load.getView(), coordsAt(one, counter), tile));
    }
    return words;
  }

  /// Rewrites the body, which is still the old loop's; what the next iteration reads.
  SmallVector<Value> buildBody(ArrayRef<BlockArgument> now) {
    b_.setInsertionPointToStart(loop_.getBody());
    b_.create<AwaitOp>(0); // all threads have read what was there
    SmallVector<Value> tiles;
    for (auto [one, words, tile] : llvm::zip(loads_, now, fetched_))
      tiles.push_back(b_.create<PlaceOp>(one.load.getTile().getType(), words, tile));
    b_.create<AwaitOp>(0);
    SmallVector<Value> next = fetchAll(iteration(loop_.getInductionVar(), 1));
    for (auto [one, tile] : llvm::zip(loads_, tiles)) {
      one.load.getTile().replaceAllUsesWith(tile);
      one.load.erase();
    }
    return next;
  }

  SmallVector<RankedTensorType> fetched_;
};

class PipelineLoads : public impl::PipelineLoadsBase<PipelineLoads> {
public:
  using PipelineLoadsBase::PipelineLoadsBase;

private:
  void runOnOperation() override {
    const GpuTarget *target = targetNamed(targetName, getOperation());
    if (!target)
      return signalPassFailure();
    if (failed(requireLayouts(getOperation())))
      return signalPassFailure();
    int64_t momentary = 0;
    std::map<int64_t, int64_t> used; // by alternative
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](Operation *op) {
      momentary = std::max(momentary, momentaryBytes(op));
      for (Value tile : op->getResults())
        if (isTile(tile) && isShared(tileOf(tile)) && !isa<core::TransposeOp>(op))
          used[alternativeOf(op)] += bytesOf(tileOf(tile));
      if (auto loop = dyn_cast<scf::ForOp>(op))
        loops.push_back(loop);
    });
    if (!target->traits().copiesAlone) {
      for (scf::ForOp loop : loops) {
        Threads threads{warpsOf(loop), target->traits().lanes};
        if (SmallVector<Candidate> loads = candidatesOf(loop); fitRegisters(loads, threads))
          RegisterPipeline(loop, std::move(loads), threads).build();
      }
      return;
    }
    auto taken = getOperation()->getAttrOfType<IntegerAttr>(kTakenSharedAttr);
    int64_t available = target->traits().sharedBytes - momentary - (taken ? taken.getInt() : 0);
    for (scf::ForOp loop : loops)
      used[alternativeOf(loop)] += pipeline(loop, available - usedBeside(loop, used));
  }

  /// Bytes that are there together with those of a loop.
  static int64_t usedBeside(scf::ForOp loop, std::map<int64_t, int64_t> &used) {
    constexpr int64_t kCommon = -1, kSlack = 4096; // tiles are aligned
    int64_t most = 0, own = alternativeOf(loop);
    for (auto [alternative, bytes] : used)
      if (alternative != kCommon && (own == kCommon || alternative == own))
        most = std::max(most, bytes);
    return used[kCommon] + most + kSlack;
  }

  /// Whether threads have room for what is on its way, in words, beside what they compute.
  static bool fitRegisters(ArrayRef<Candidate> loads, Threads threads) {
    constexpr int64_t kMost = 4 * 64; // bytes of a thread
    int64_t together = 0;
    for (const Candidate &one : loads) {
      int64_t bytes = bytesOfThread(fetchedTile(one.load, threads));
      if (bytes % 4)
        return false;
      together += bytes;
    }
    return together > 0 && together <= kMost;
  }

  static SmallVector<Candidate> candidatesOf(scf::ForOp loop) {
    SmallVector<Candidate> loads;
    if (!writesMemory(loop))
      for (auto load : loop.getBody()->getOps<core::LoadOp>())
        if (auto one = candidate(loop, load))
          loads.push_back(std::move(*one));
    return loads;
  }

  /// Bytes of shared memory that the rings take beyond what the loads took.
  int64_t pipeline(scf::ForOp loop, int64_t available) {
    SmallVector<Candidate> loads = candidatesOf(loop);
    int64_t bytes = 0;
    for (const Candidate &one : loads)
      bytes += bytesOf(tileOf(core::LoadOp(one.load).getTile()));
    constexpr int64_t kMost = 4;
    int64_t count = stages ? stages : kMost;
    while (!stages && count > 1 && (count - 1) * bytes > available)
      --count;
    if (loads.empty() || count < 2)
      return 0;
    Pipeline(loop, std::move(loads), count).build();
    return (count - 1) * bytes;
  }
};

} // namespace
} // namespace ditron::gpu
