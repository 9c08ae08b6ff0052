// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a kernel's course depends on what it reads.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ditron::checker {

/// The first op by which what a kernel touches, whom it notifies or which way it takes can depend
/// on what it reads from memory; null where a core does the same whatever is read. What is read from
/// `fixed` arguments, which nobody writes, is known.
mlir::Operation *findDecisionOnMemory(mlir::func::FuncOp kernel,
                                      llvm::ArrayRef<mlir::BlockArgument> fixed = {});

} // namespace ditron::checker
