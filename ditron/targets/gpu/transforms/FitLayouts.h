// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the layouts that simt-assign-layouts has chosen into the types of tiles.
#pragma once
#include "ditron/targets/gpu/GpuTarget.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ditron::gpu {

/// Conversions stand where operands have other layouts than they are wanted in.
void fitLayouts(mlir::func::FuncOp function,
                llvm::function_ref<const Layout &(mlir::Value tile)> layoutOf, Threads threads,
                const Products &products);

} // namespace ditron::gpu
