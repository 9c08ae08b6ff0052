// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the NVIDIA backend: see Passes.td.
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/target/nvidia/NvidiaOps.h"
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
#include "ditron/target/nvidia/transforms/Passes.h.inc"

/// The warps that execute a kernel (i64 attribute of the function).
inline constexpr llvm::StringLiteral kWarpsAttr = "nvidia.warps";
/// The cores that a multiprocessor is to have registers for (i64 attribute of the function).
inline constexpr llvm::StringLiteral kResidentAttr = "nvidia.resident";
/// The bytes of shared memory that a lowered kernel needs (i64 attribute of the function).
inline constexpr llvm::StringLiteral kSharedAttr = "nvidia.shared_bytes";

/// The symbol of a core's shared memory, whose size the launch gives.
inline constexpr llvm::StringLiteral kSharedSymbol = "ditron_shared";
/// The messages of the tile.require ops of a kernel, in the order of their numbers: an array of
/// dictionaries {message, file, line} (attribute of the function).
inline constexpr llvm::StringLiteral kRequirementsAttr = "nvidia.requirements";

} // namespace ditron::nvidia
