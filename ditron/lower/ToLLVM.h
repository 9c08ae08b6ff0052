// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/lower/Exponentials.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Passes/OptimizationLevel.h"

namespace llvm {
class Module;
class PassBuilder;
} // namespace llvm

namespace mlir {
class LLVMTypeConverter;
} // namespace mlir

namespace ditron::lower {

/// Rewrites within the dialects that the conversion to LLVM then has simpler cases of.
void populateSimplificationPatterns(mlir::RewritePatternSet &patterns);

/// Converts what the lowering of tiles leaves (func, scf, cf, arith, math, memref, vector) to the
/// LLVM dialect.
mlir::LogicalResult convertToLLVM(mlir::ModuleOp module, mlir::LLVMTypeConverter &types);

/// Runs LLVM's own pipeline of passes on a module.
void runDefaultPipeline(llvm::Module &module, llvm::PassBuilder &builder,
                        llvm::OptimizationLevel level);

} // namespace ditron::lower
