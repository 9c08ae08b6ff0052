// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tensor cores multiply.
#pragma once
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/nvidia/Chip.h"
#include "ditron/targets/nvidia/analysis/Fragments.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"

namespace ditron::nvidia {

using namespace gpu;

/// How a product is computed.
enum class DotKind {
  matrix, ///< by the tensor cores' mma.sync
  scalar, ///< one multiplication after the other
};
DotKind kindOf(core::DotOp op);

/// Terms that one mma.sync of operands of this type adds up; 0 if there is none.
int64_t matrixDepth(mlir::Type element, core::Precision precision);

/// One mma.sync as PTX spells it.
struct MatrixShape {
  const char *shape, *types;
};
MatrixShape matrixShape(mlir::Type element);

/// The number of what a loop carries, zeros at first, that a product adds to and nothing else touches.
std::optional<unsigned> carriedBy(core::DotOp dot);

SlicedShape shapeOfSliced(SlicedDotOp dot);
bool hasSlicedDots(mlir::func::FuncOp function);

inline constexpr int64_t kProductRows = 64; ///< of one wgmma
/// What wgmma makes of operands of a type.
struct WarpgroupProduct {
  const char *type = nullptr; ///< as PTX spells it; null: there is no such product
  int64_t depth = 16;         ///< terms that one instruction adds up
  int64_t columns = 8;        ///< that widths above 32 are multiples of
  int64_t run = 0;            ///< terms between promotions of their sum to fp32; 0: none
};
WarpgroupProduct warpgroupProduct(mlir::Type element, core::Precision precision);

/// The chip of this name; null, and an error at `op`, where there is none.
const Chip *chipNamed(llvm::StringRef name, mlir::Operation *op);

} // namespace ditron::nvidia
