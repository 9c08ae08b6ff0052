// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-defer-loads: what is read in order to be stored together with a tile that was read before,
// and is no larger, may be read part by part, each right in front of the part of the store. So it
// is in kernels that reduce: theirs is the tile that waits in registers.
//
//   %s = tile.reduce sum %x axis 1 : tensor<1x8192xf32> -> tensor<1x1xf32>
//   %w = tile.load %W[%i] : ... -> tensor<1x8192xf32>
//   %y = arith.mulf %x, %w ...
//   tile.store %y, %Y[%i] : ...
// becomes
//   ... %w = tile.load %W[%i] {simt.deferred} : ...
//
// A thread then has registers for %x and for one access of %w: not for all of both, so that more
// CTAs share an SM. LatePasses.h puts the accesses there. It is so of arguments that
// the kernel does not write, where all that is made of the tile is stored at once, and where
// nothing but reading happens between the load and the store. test/targets/gpu/defer-loads.mlir
// shows it.
#include "ditron/core/TileOps.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_DEFERLOADS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// Whether each register of the result is made of one of each operand.
bool isOfRegisters(Operation *op) {
  return isElementwise(op) || isa<core::ReshapeOp, core::BroadcastOp, core::TransposeOp>(op);
}

/// The one store that a tile goes into, whatever is made of it on the way; null if there is none.
core::StoreOp storeOf(Value tile) {
  core::StoreOp found;
  llvm::SetVector<Operation *> users(tile.user_begin(), tile.user_end());
  for (size_t n = 0; n < users.size(); ++n) {
    auto store = dyn_cast<core::StoreOp>(users[n]);
    if (store ? found && store != found : !isOfRegisters(users[n]))
      return nullptr;
    if (store)
      found = store;
    else
      users.insert(users[n]->user_begin(), users[n]->user_end());
  }
  return found;
}

/// Whether a view is part of an argument of known alignment that the kernel does not write.
bool isOfInput(Value view) {
  BlockArgument argument = rootOf(view);
  if (!argument)
    return false;
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  unsigned number = argument.getArgNumber();
  return function.getArgAttr(number, core::kReadOnlyAttr) &&
         function.getArgAttr(number, core::kAlignmentAttr);
}

/// Whether nothing but reading and computing happens between two ops of a block.
bool onlyReads(Operation *from, Operation *to) {
  for (Operation *op = from->getNextNode(); op != to; op = op->getNextNode())
    if (!isa<core::LoadOp>(op) && !(isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
                                    !isa<core::ReduceOp, core::ReduceIndexOp, core::ScanOp>(op)))
      return false;
  return true;
}

class DeferLoads : public impl::DeferLoadsBase<DeferLoads> {
  void runOnOperation() override {
    if (!reduces(getOperation()))
      return;
    getOperation().walk([&](Block *block) {
      int64_t most = 0; // elements of a tile that was read before
      for (core::LoadOp load : block->getOps<core::LoadOp>()) {
        int64_t elements = tileOf(load.getTile()).getNumElements();
        if (elements <= most && mayWait(load))
          load->setAttr(kDeferredAttr, UnitAttr::get(&getContext()));
        most = std::max(most, elements);
      }
    });
  }

  static bool mayWait(core::LoadOp load) {
    core::StoreOp store = isOfInput(load.getView()) ? storeOf(load.getTile()) : nullptr;
    return store && store->getBlock() == load->getBlock() && onlyReads(load, store);
  }
};

} // namespace
} // namespace ditron::gpu
