// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which values tell where their tile begins and ends. Tiles do not straddle the parts of ranks: one
// that ends with a part has fewer elements than in the kernel of one device, and the next one begins
// elsewhere. So what is stored along a dimension that is cut has to follow element by element.
//
//     %s = tile.reduce sum %t axis 1      of the tile's columns
//     %b = tile.broadcast %s
//     %1 = arith.addf %t, %b
//     tile.store %1, %C[%i, %j]           another value where the tile has fewer columns
//
#pragma once
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ditron::device {

/// Whether a loaded tile has the dimension that is cut along this axis; -1: along any.
using IsCut = llvm::function_ref<bool(mlir::Operation *load, int64_t axis)>;

/// Of the operations that compute `tile`, one that combines elements along `axis`, moves them along it
/// or counts them; null where none does, or the axis has one element. What products and loops make is
/// taken to have the dimension, and is not looked into.
mlir::Operation *combinerAlong(mlir::Value tile, int64_t axis, IsCut isCut);

/// The axis of a tile along dimension `dim` of the view that it is read from or written to; below 0
/// where the tile has no such axis.
int64_t tileAxisOf(int64_t dim, mlir::Value view, mlir::Value tile);

} // namespace ditron::device
