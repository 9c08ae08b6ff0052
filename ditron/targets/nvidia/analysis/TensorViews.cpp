// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/analysis/TensorViews.h"
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/nvidia/analysis/TensorCores.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::nvidia {

std::optional<ArgumentView> mappedArgument(func::FuncOp function, Value slice) {
  auto view = ArgumentView::of(slice);
  if (!view || view->argument.getOwner() != &function.front() || gpu::isSelfSignaling(slice))
    return std::nullopt;
  auto rank = static_cast<int64_t>(view->dimensions.size());
  int64_t last = cast<MemRefType>(slice.getType()).getRank() - 1;
  bool isFit = rank >= 2 && rank + (view->page ? 1 : 0) <= 5 && last >= 1 &&
               view->dimensions.back().ofView == last && view->dimensions.back().isWhole &&
               function.getArgAttr(view->argument.getArgNumber(), core::kUnitStrideAttr);
  return isFit ? view : std::nullopt;
}

Value viewOf(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<core::LoadOp, core::StoreOp, core::GatherOp, core::ScatterOp, core::AtomicAddOp>(
          [](auto access) { return access.getView(); })
      .Default([](Operation *) { return nullptr; });
}

bool isOfThreads(Operation *op) {
  return isa_and_present<SimtDialect, NvidiaDialect>(op->getDialect());
}

bool needsCompleteStores(Operation *op) {
  if (auto sync = dyn_cast<SyncOp>(op))
    return sync.getScope() != "cta";
  if (auto notify = dyn_cast<NotifyOp>(op))
    return !notify.getRelaxed();
  return isa<NotifyEachOp, MeetOp, EndOp, MoveOp>(op);
}

/// Whether an op of a kernel goes with TMA stores to an argument: it reads nothing of it but where
/// the stores are complete, and overwrites nothing.
static bool goesWithStoresTo(BlockArgument argument, Operation *op) {
  auto isOther = [&](Value view) {
    return llvm::all_of(choicesOf(view), [&](Value one) {
      BlockArgument root = rootOf(one);
      return root && root != argument;
    });
  };
  if (auto move = dyn_cast<MoveOp>(op))
    return isOther(move.getDestination());
  if (isa_and_present<device::DistDialect>(op->getDialect()) ||
      isa<LLVM::AtomicRMWOp, LLVM::FenceOp>(op))
    return false;
  if (isOfThreads(op) && !isMemoryEffectFree(op))
    return needsCompleteStores(op) || isa<BeginOp, WaitOp, AbortOp, SyncOp, NotifyOp,
                                          ReleaseCopiesOp, ClusterBoxOp, ClusterSumOp>(op);
  Value view = isa<core::StoreOp>(op) ? nullptr : viewOf(op);
  return !view || isOther(view);
}

bool canStoreByTma(core::StoreOp store, int64_t warps) {
  constexpr int64_t kNarrowest = 64;
  auto function = store->getParentOfType<func::FuncOp>();
  RankedTensorType tile = tileOf(store.getTile());
  auto slice = mappedArgument(function, store.getView());
  if (store->hasAttr(device::kPackedAttr) || isRegion(function) || tile.getRank() != 2 ||
      tile.getDimSize(1) < kNarrowest || core::elementBytes(tile.getElementType()) != 2 || !slice)
    return false;
  bool isWhole = tile.getDimSize(0) % (16 * warps) == 0;
  if (!isWhole || core::layoutOf(tile) != warpgroupAccumulator(shapeOf(tile), warps).canonical())
    return false;
  WalkResult result = function.walk([&](Operation *op) {
    return goesWithStoresTo(slice->argument, op) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

} // namespace ditron::nvidia
