// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowering shared by the backends: see Passes.td.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ditron::lower {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "ditron/lower/Passes.h.inc"

/// The arguments of the program, in order: an array of dictionaries, as abi::Argument (attribute of
/// the kernel).
inline constexpr llvm::StringLiteral kArgumentsAttr = "dist.arguments";
/// The symmetric memory that a launch provides, in the order of the arguments that take its
/// addresses: an array of dictionaries, as abi::Symmetric (attribute of the kernel).
inline constexpr llvm::StringLiteral kSymmetricAttr = "dist.symmetric";

/// The kernel has roles of copy engines (unit attribute), and what these do, as abi::CopyStep.
inline constexpr llvm::StringLiteral kCopyEnginesAttr = "dist.copy_engines";
inline constexpr llvm::StringLiteral kCopyProgramAttr = "dist.copy_program";

} // namespace ditron::lower
