// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A traced kernel in a context of one's own, its variables values: what analyses and fusion take.
#pragma once
#include "ditron/lang/Trace.h"

namespace ditron::task {

/// The kernel's meaning, with verbs for placements and inboxes, copied into `context`.
mlir::OwningOpRef<mlir::ModuleOp> prepare(const Kernel &kernel, mlir::MLIRContext &context);

mlir::func::FuncOp functionOf(mlir::ModuleOp module);

} // namespace ditron::task
