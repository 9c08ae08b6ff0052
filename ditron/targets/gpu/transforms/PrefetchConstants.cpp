// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-prefetch-constants: while a task of a graph waits, what it reads and nobody writes comes nearer.
//
//   scf.for %n = ... { simt.wait ... }              scf.if %isProduct {
//   scf.if %isProduct {                               scf.for %k = ... {
//     scf.for %k = ... iter_args(%sum) {                simt.prefetch %W[%j, %k]
//       %x = tile.load %x[%k]                         }
//       %w = tile.load %W[%j, %k]        becomes    }
//       ...                                         scf.for %n = ... { simt.wait ... }
//     }                                             scf.if %isProduct { ... }
//   }
//
// Weights depend on no task, so that memory need not idle between one task and the next. What is asked
// for is what the loops and branches behind the wait load from arguments that the kernel does not write,
// at places that numbers known before the wait name. test/targets/gpu/prefetch-constants.mlir shows it.
#include "ditron/core/TileOps.h"
#include "ditron/device/DistOps.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/ConstantLoads.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_PREFETCHCONSTANTS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

class PrefetchConstants : public impl::PrefetchConstantsBase<PrefetchConstants> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(device::kExactCoresAttr))
      return;
    SetVector<scf::ForOp> loops;
    getOperation().walk([&](WaitOp wait) {
      if (auto loop = dyn_cast<scf::ForOp>(wait->getParentOp()); loop && isInFrontOfTypes(loop))
        loops.insert(loop);
    });
    for (scf::ForOp waits : loops)
      ConstantLoads{isReadOnly, isReadOnly}.ask(OpBuilder(waits), waits);
  }

  /// Whether the types of tasks stand behind a loop.
  static bool isInFrontOfTypes(scf::ForOp loop) {
    for (Operation *op = loop->getNextNode(); op; op = op->getNextNode())
      if (op->hasAttr(device::kAlternativeAttr))
        return true;
    return false;
  }
};

} // namespace
} // namespace ditron::gpu
