// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which one core executes the ops of a kernel.
#pragma once
#include "mlir/IR/Operation.h"

namespace ditron::device {

/// Whether the first op may be executed before the second one: in front of it, or in a loop around both.
bool mayPrecede(mlir::Operation *first, mlir::Operation *second);

} // namespace ditron::device
