// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the CPU backend: see Passes.td.
#pragma once
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace ditron::cpu {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "ditron/targets/cpu/transforms/Passes.h.inc"

/// Bytes of a vector register where cpu-look-up-nibbles applies: a table of 16 floats fills it.
inline constexpr int64_t kTableBytes = 64;

/// The bytes of scratch memory that a lowered kernel needs (i64 attribute of the function).
inline constexpr llvm::StringLiteral kScratchAttr = "tile.scratch_bytes";

/// The numbers of the first words of a function's arguments (i64 array), where these are not all that
/// the kernel had: see SelectViews.cpp.
inline constexpr llvm::StringLiteral kFirstWordsAttr = "cpu.first_words";

} // namespace ditron::cpu
