// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of all ranks, as those of the ranks along an axis of the mesh.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace ditron::device {

/// Has dist-form-team make every kernel of a module one of the ranks along `axis`. Fails, with an error
/// at the op, where one speaks of the mesh already.
mlir::LogicalResult formTeams(mlir::ModuleOp module, llvm::StringRef axis);

} // namespace ditron::device
