// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/lower/Exponentials.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/OptimizationLevel.h"

namespace llvm {
class PassBuilder;
class PipelineTuningOptions;
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

/// What is known of loops is forgotten at once when one is unrolled. Loop by loop that takes time quadratic in their
/// number, and a kernel of a graph has many.
inline constexpr bool kForgetsLoops = true;
/// What LLVM's own pipeline does to kernels, which are written in vectors: nothing is vectorised again.
llvm::PipelineTuningOptions tuning();
/// Runs that pipeline of passes on a module.
void runDefaultPipeline(llvm::Module &module, llvm::PassBuilder &builder,
                        llvm::OptimizationLevel level);
/// Runs passes on a module.
void runPasses(llvm::Module &module, llvm::PassBuilder &builder, llvm::ModulePassManager passes);
/// Takes away what kept LLVM's passes, which are through, from computing in f16 what is written in f32.
void dropFences(llvm::Function &function);

} // namespace ditron::lower
