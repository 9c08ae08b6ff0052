// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asking for what will be loaded and nobody writes (simt.prefetch), while a CTA waits: for another
// task (PrefetchConstants.cpp), or for launches.
//
//   wait                                        scf.if %isProduct {
//   scf.if %isProduct {                           scf.for %k = ... {
//     scf.for %k = ... iter_args(%sum) {            simt.prefetch %W[%j, %k]
//       %x = tile.load %x[%k]                     }
//       %w = tile.load %W[%j, %k]     becomes   }
//       ...                                     wait
//     }                                         scf.if %isProduct { ... }
//   }
#pragma once
#include "ditron/core/TileOps.h"
#include "mlir/IR/Builders.h"

namespace ditron::gpu {

/// What is asked for.
struct ConstantLoads {
  /// Whether nobody writes a view until it is loaded.
  llvm::function_ref<bool(mlir::Value view)> isConstant;
  /// Numbers that are read from memory, for places of loads; none: those are not asked for.
  llvm::function_ref<bool(mlir::Value view)> isReadable;
  /// What a loop asks for at most, but for its first iteration; none: all that it loads.
  std::optional<int64_t> mostBytes = {};

  /// Copies what stands behind an op in its block to where the builder stands, right in front of the
  /// op, as far as it leads to loads of constants at places that are known there. Whether something
  /// is asked for.
  bool ask(mlir::OpBuilder b, mlir::Operation *wait) const;
};

} // namespace ditron::gpu
