// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect `simt`: see SimtOps.td.
#pragma once
#include "ditron/core/TileOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace ditron::gpu {
class GpuTarget;
}

#include "ditron/targets/gpu/ops/SimtOpsDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ditron/targets/gpu/ops/SimtOpsTypes.h.inc"
#define GET_OP_CLASSES
#include "ditron/targets/gpu/ops/SimtOps.h.inc"

namespace ditron::gpu {

//===-- What verifiers have in common ---------------------------------------------------------===//

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;
/// A container of tiles has a slot.
mlir::LogicalResult requireSlots(EmitError emitError, int64_t slots);
/// An access to a view has a coordinate for each dimension.
mlir::LogicalResult requireCoords(mlir::Operation *op, mlir::TypedValue<mlir::MemRefType> view,
                                  mlir::ValueRange coords);
/// What comes out of a container, `of`, is what lies in it.
mlir::LogicalResult requireTypes(mlir::Operation *op, mlir::TypeRange found, mlir::TypeRange held,
                                 llvm::StringRef of);

} // namespace ditron::gpu
