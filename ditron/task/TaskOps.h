// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect `task`: see TaskOps.td.
#pragma once
#include "ditron/device/DistOps.h"
#include "mlir/IR/SymbolTable.h"

#include "ditron/task/TaskOpsDialect.h.inc"
#include "ditron/task/TaskOpsEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ditron/task/TaskOpsTypes.h.inc"
#define GET_OP_CLASSES
#include "ditron/task/TaskOps.h.inc"

namespace ditron::task {

/// On a kernel of a graph, pairs of numbers (output, input): the two may be the same elements.
inline constexpr llvm::StringLiteral kInPlaceAttr = "task.in_place";

} // namespace ditron::task
