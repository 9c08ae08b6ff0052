// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inboxes outside of the compiler's pipelines.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace ditron::device {

/// Has dist-expand-inboxes turn the inboxes of all kernels of a module into the other verbs:
/// for what executes or checks a kernel as it was traced.
mlir::LogicalResult lowerInboxes(mlir::ModuleOp module);

} // namespace ditron::device
