// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which memory TMA can load tiles from and store tiles to.
#pragma once
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ditron::nvidia {

/// The argument of which TMA can load or store a tile: the view is a slice of it, whose rows are
/// runs of the argument's last dimension and are cut off where the argument ends.
std::optional<ArgumentView> mappedArgument(mlir::func::FuncOp function, mlir::Value slice);

/// The memory that an op reads or writes as tiles; null where it does not.
mlir::Value viewOf(mlir::Operation *op);

/// Whether an op is one of threads, this chip's or every GPU's.
bool isOfThreads(mlir::Operation *op);

/// Whether TMA may store what a kernel with roles writes here: a tile of 16-bit elements, at least
/// 64 columns wide, in the layout of warpgroupAccumulator, to an argument that launches can describe
/// and that the kernel reads only by copies of chunks.
bool canStoreByTma(core::StoreOp store, int64_t warps);

/// Whether TMA stores made before, of what is read while the kernel runs, have to be complete for an
/// op: it releases them to other CTAs or ranks, or copies what they may have written.
bool needsCompleteStores(mlir::Operation *op);

} // namespace ditron::nvidia
