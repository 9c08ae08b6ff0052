// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ditron::cpu {

/// Takes away every op of a function that has to do with tiles, and what loops and branches yield
/// of them: all of it has been lowered. `dead`: ops on scalars that are not needed any more.
void eraseTiles(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Operation *> dead);

} // namespace ditron::cpu
