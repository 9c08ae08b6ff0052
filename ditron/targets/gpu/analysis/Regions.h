// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a kernel that are planned by themselves (OutlineRegions.cpp), and its ends.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace ditron::gpu {

/// A function is a region of a kernel (unit attribute of the function).
inline constexpr llvm::StringLiteral kRegionAttr = "simt.region";
/// The warps that a region may have, for the CTA is not to grow (i64 attribute of the function).
inline constexpr llvm::StringLiteral kMostWarpsAttr = "simt.most_warps";
/// The warps of the CTA that executes a region (i64 attribute of the function; absent: its own).
inline constexpr llvm::StringLiteral kCtaWarpsAttr = "simt.cta_warps";

inline bool isRegion(mlir::func::FuncOp function) { return function->hasAttr(kRegionAttr); }

/// The regions that a kernel enters or, behind simt-join-regions, calls; in order.
llvm::SmallVector<mlir::func::FuncOp> regionsOf(mlir::func::FuncOp kernel);

/// The kernel of a module, which is its one function that is no region; null, and an error, where
/// there is another number of them.
mlir::func::FuncOp kernelOf(mlir::ModuleOp module);

/// The warps of a function of its own, producers included, once it has layouts.
int64_t ownWarpsOf(mlir::func::FuncOp function);
/// The warps of its CTA.
int64_t ctaWarpsOf(mlir::func::FuncOp function);

/// The device::kAlternativeAttr of the branch that an op is in; -1 where it is in none. Memory of one
/// alternative may be that of another one: warps meet in between.
int64_t alternativeOf(mlir::Operation *op);

/// Whether an op is a branch to the end of the kernel, which all threads take or none does.
bool isExit(mlir::Operation *op);

} // namespace ditron::gpu
