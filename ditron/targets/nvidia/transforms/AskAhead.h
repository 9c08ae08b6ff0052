// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel reads of constants of a graph, weights and inputs say, and of caches, most of which was there
// before the graph's launches, may be asked for while launches in front of it still run. It is a hint: who writes
// there in the meantime writes to the same cache.
//
//   wait                                          scf.if %isOfFirstWave {
//   scf.if %exists {                                scf.if %exists {
//     scf.for %k = ... iter_args(%sum) {              scf.for %k = ... {
//       %x = tile.load %x[%i, %k]                       simt.prefetch %W[%j, %k]
//       %w = tile.load %W[%j, %k]       becomes       }
//       ...                                         }
//     }                                           }
//   }                                             wait
//                                                 scf.if %exists { ... }
//
// CTAs behind those that SMs have at first would ask right before they read: they do not.
#pragma once
#include "ditron/targets/nvidia/Chip.h"
#include "mlir/IR/Builders.h"

namespace ditron::nvidia {

/// The first op of a function's block that touches memory which other launches may write, or that ends the launch;
/// its terminator where there is none.
mlir::Operation *firstAccess(mlir::Block &body);

/// Asks for as much as is on its way to an SM at a time, and for a tile at least, of what stands behind an op of the
/// function's block, in front of which the builder stands. Whether something is asked for; nothing is written
/// otherwise.
bool askAhead(mlir::OpBuilder b, mlir::Operation *wait, const Chip &chip);

} // namespace ditron::nvidia
