// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the NVIDIA backend: see Passes.td.
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace ditron::nvidia {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "ditron/targets/nvidia/transforms/Passes.h.inc"

} // namespace ditron::nvidia
