// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel sends before it computes, of what it does not write: another warp can do that while
// the product is computed.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ditron::nvidia {

/// `first` (see RolePlan), if all that it does is to copy chunks of arguments that the kernel does not
/// write to peers, and to tell them by notifies that add; null if it is another op, or the kernel may
/// end before its end or is a region: nobody would then wait for such a warp.
mlir::Operation *sendsAhead(mlir::func::FuncOp function, mlir::Operation *first);

/// Whether a kernel may end before its end.
bool mayEndEarly(mlir::func::FuncOp function, mlir::Operation *first);

} // namespace ditron::nvidia
