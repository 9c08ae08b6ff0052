// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of a view, and of numbers that name places in it, when a kernel is compiled.
#pragma once
#include "ditron/core/TileOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace ditron::lower {

/// Whether the elements of the view's last dimension are neighbours, as far as the program says:
/// arguments marked core::kUnitStrideAttr, symmetric memory, and parts of those.
bool hasUnitStride(mlir::Value view);

/// Whether the magnitude of a number is far from what fits 64 bits, as it is of all that is
/// computed from the extents of memory and from counting up to them.
bool isModerate(mlir::Value value, int depth = 0);

/// The part of its view that a chunk is, as a memref.subview; of no elements where the chunk lies
/// outside. Views may be of any space.
mlir::Value partOf(mlir::OpBuilder &b, core::ChunkOp chunk);

} // namespace ditron::lower
