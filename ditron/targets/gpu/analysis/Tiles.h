// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small questions about tiles that several passes ask.
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/targets/gpu/analysis/Distribution.h"
#include "ditron/targets/nvidia/Chip.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"

namespace ditron::nvidia {

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
bool reduces(mlir::func::FuncOp function);

/// Ops of arith and math that work element by element on tiles of one shape, and casts.
bool isElementwise(mlir::Operation *op);

/// How a product is computed.
enum class DotKind {
  matrix, ///< by the tensor cores' mma.sync
  scalar, ///< one multiplication after the other
};
DotKind kindOf(core::DotOp op);

/// Terms that one mma.sync of operands of this type adds up; 0 if there is none.
int64_t matrixDepth(mlir::Type element, core::Precision precision);

inline constexpr int64_t kProductRows = 64; ///< of one wgmma
/// What wgmma makes of operands of a type.
struct WarpgroupProduct {
  const char *type = nullptr; ///< as PTX spells it; null: there is no such product
  int64_t depth = 16;         ///< terms that one instruction adds up
  int64_t columns = 8;        ///< that widths above 32 are multiples of
  int64_t run = 0;            ///< terms that are added up before f32 takes their sum over; 0: any
};
WarpgroupProduct warpgroupProduct(mlir::Type element, core::Precision precision);

/// The warps of the kernel that an op belongs to.
int64_t warpsOf(mlir::Operation *op);

/// The chip of this name; null, and an error at `op`, where there is none.
const Chip *chipNamed(llvm::StringRef name, mlir::Operation *op);

/// Refuses a kernel whose tiles AssignLayouts has not dealt to threads.
mlir::LogicalResult requireLayouts(mlir::func::FuncOp kernel);

} // namespace ditron::nvidia
