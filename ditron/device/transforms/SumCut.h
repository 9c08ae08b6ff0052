// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a loop over tiles stores, in two parts: sums, to which the ranks add, and what follows from
// them, which is computed once the sum over the ranks is there.
//
//     %sum = scf.for ... iter_args(%acc = 0) { dot }      the sum: each rank has a summand
//     %1 = arith.addf %sum, %bias                         what follows: bias, activation, residual
//     %2 = arith.maximumf %1, %zero
//     tile.store %2, %C[%i, %j]
//
// The cut is at the first operation that is not linear in the sum. Sums are tile.dot, loops that
// add from 0 on, sums along an axis, and what is linear in them alone: their sums, differences,
// negations and changes of shape.
//
#pragma once
#include "ditron/core/TileOps.h"
#include "llvm/ADT/SetVector.h"

namespace ditron::device {

struct SumCut {
  llvm::SetVector<mlir::Value> sums;         ///< at least one
  llvm::SetVector<mlir::Operation *> before; ///< what computes them, in the block of the store
  llvm::SetVector<mlir::Operation *> after;  ///< what follows from them, without the store
};

/// The sums behind `store`. Fails with an error that begins with `placement` where there is none,
/// or what follows from it cannot be left to another rank.
mlir::FailureOr<SumCut> cutAtSums(core::StoreOp store, mlir::StringRef placement);

} // namespace ditron::device
