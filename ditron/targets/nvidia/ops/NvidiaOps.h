// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect `nvidia`: see NvidiaOps.td.
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace ditron::nvidia {
using namespace gpu; // what this backend shares with others

/// Rows of a box of nvidia.tma_load where a slice ends within a tile.
inline constexpr int64_t kPartRows = 16;
} // namespace ditron::nvidia

#include "ditron/targets/nvidia/ops/NvidiaOpsDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ditron/targets/nvidia/ops/NvidiaOpsTypes.h.inc"
#define GET_OP_CLASSES
#include "ditron/targets/nvidia/ops/NvidiaOps.h.inc"
