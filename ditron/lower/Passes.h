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

/// Marks the function that computes the extents of symmetric memory (unit attribute).
inline constexpr llvm::StringLiteral kPlanAttr = "dist.plan";
/// What the launcher has to provide: an array of dictionaries {name, kind, bytes, rank}, in the
/// order of the arguments that take their addresses (attribute of the kernel).
inline constexpr llvm::StringLiteral kRequestsAttr = "dist.requests";

} // namespace ditron::lower
