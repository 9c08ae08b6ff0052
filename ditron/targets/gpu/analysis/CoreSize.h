// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How large CTAs are where a schedule leaves it to the compiler: by what their tiles take of
// registers, before these have layouts.
#pragma once
#include "ditron/targets/gpu/GpuTarget.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ditron::gpu {

/// Whether code asks nothing about the tensors of a launch: there are no ways beside the wide one, which
/// take registers too.
bool isForAligned(mlir::func::FuncOp function);

/// Warps of a CTA: few enough for products to read registers, many enough not to spill; of a kernel
/// whose threads wait for one another few, each with much to read. Of alternatives (Regions.h), those
/// of the one that has most.
int64_t chooseWarps(mlir::func::FuncOp function, const Traits &chip);

/// Occupancy: the CTAs of `warps` warps that an SM is to have registers for, so that some compute
/// while others wait for memory. Products hide their loads themselves: one CTA may have all
/// registers.
int64_t chooseCtasPerSm(mlir::func::FuncOp function, int64_t warps, const Traits &chip);

} // namespace ditron::gpu
