// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small questions about tiles that several passes ask.
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/targets/gpu/analysis/Distribution.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"

namespace ditron::gpu {

class GpuTarget;

inline bool isTile(mlir::Type type) { return mlir::isa<mlir::RankedTensorType>(type); }
inline bool isTile(mlir::Value value) { return isTile(value.getType()); }

inline mlir::RankedTensorType tileOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

inline Shape shapeOf(mlir::RankedTensorType type) {
  return {type.getShape().begin(), type.getShape().end()};
}

/// Whether a tile lives in shared memory.
inline bool isShared(mlir::RankedTensorType type) {
  return type.getEncoding() && core::layoutOf(type).uses(Axis::m);
}

/// Whether a kernel combines elements along an axis: threads then wait for one another in the
/// middle of their work.
bool reduces(mlir::Operation *part);

/// Ops of arith and math that work element by element on tiles of one shape, and casts.
bool isElementwise(mlir::Operation *op);

/// The value of which a tile is a chain of transpositions.
mlir::Value untransposed(mlir::Value tile);

/// The warps of the kernel that an op belongs to.
int64_t warpsOf(mlir::Operation *op);

/// The GPU of this name, or the first that is known where there is no name; null, and an error at
/// `op`, where there is none.
const GpuTarget *targetNamed(llvm::StringRef name, mlir::Operation *op);

/// Refuses a kernel whose tiles AssignLayouts has not dealt to threads.
mlir::LogicalResult requireLayouts(mlir::func::FuncOp kernel);

/// Whether a loop reads a tile to add it to one of its shape, element by element: rows are reduced behind
/// the loop, once, and what all rows are multiplied by is read by few threads if warps share them.
bool isSummedBehindLoop(mlir::Value tile);

/// Whether products, and nothing else, read a tile, transposed or not.
bool onlyReadByDots(mlir::Value tile);

} // namespace ditron::gpu
