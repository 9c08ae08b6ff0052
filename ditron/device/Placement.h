// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of one device whose arguments are placed on ranks (`dist.placement`).
#pragma once
#include "ditron/device/DistOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace ditron::device {

/// Writes the verbs of the kernels that have placed arguments, as the compiler does; others stay as
/// they are. Fails, with an error at the op, where one cannot be placed.
mlir::LogicalResult lowerPlacements(mlir::ModuleOp module);

} // namespace ditron::device
