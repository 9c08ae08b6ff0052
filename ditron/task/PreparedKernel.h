// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A traced kernel in a context of one's own, its variables values: what analyses and fusion take.
#pragma once
#include "ditron/lang/Trace.h"

namespace ditron::task {

/// The kernel with the verbs that it was traced with, for placements too. Inboxes stay, for what a backend knows of them,
/// but for those that could not count nodes in one more dimension, and those of placed kernels.
mlir::ModuleOp moduleOf(const TracedKernel &kernel);

/// That, copied into `context`.
mlir::OwningOpRef<mlir::ModuleOp> prepare(const Kernel &kernel, mlir::MLIRContext &context);

mlir::func::FuncOp functionOf(mlir::ModuleOp module);

} // namespace ditron::task
