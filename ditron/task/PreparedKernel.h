// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A traced kernel in a context of one's own, its variables values: what analyses and fusion take.
#pragma once
#include "ditron/lang/Trace.h"

namespace ditron::task {

/// Whether inboxes are to stay, for what a backend knows of them, or to be the verbs that they stand for.
enum class Inboxes { kept, expanded };

/// The kernel with the verbs that it was traced with, for placements too. Inboxes are kept where there are any,
/// but for those that could not count nodes in one more dimension, and those of placed kernels.
mlir::ModuleOp moduleOf(const TracedKernel &kernel, Inboxes inboxes);

/// That, copied into `context`.
mlir::OwningOpRef<mlir::ModuleOp> prepare(const Kernel &kernel, mlir::MLIRContext &context,
                                          Inboxes inboxes);

mlir::func::FuncOp functionOf(mlir::ModuleOp module);

} // namespace ditron::task
