// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lower/ToLLVM.h"
#include "ditron/lower/Arithmetic.h"
#include "ditron/lower/Exponentials.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

using namespace mlir;

namespace ditron::lower {

namespace {

/// A view with a leading dimension split in two, any of whose extents may be known only at run
/// time: MLIR's own expansion takes one unknown extent a group.
struct ExpandShape : OpRewritePattern<memref::ExpandShapeOp> {
  explicit ExpandShape(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/10) {}

  LogicalResult matchAndRewrite(memref::ExpandShapeOp op, PatternRewriter &b) const override {
    auto source = b.create<memref::ExtractStridedMetadataOp>(op.getLoc(), op.getSrc());
    SmallVector<OpFoldResult> sizes =
        getMixedValues(op.getStaticOutputShape(), op.getOutputShape(), b);
    SmallVector<OpFoldResult> strides(sizes.size());
    for (auto [n, group] : llvm::enumerate(op.getReassociationIndices())) {
      Value stride = source.getStrides()[n]; // of the innermost of the group
      for (int64_t d : llvm::reverse(group)) {
        strides[d] = stride;
        Value size = getValueOrCreateConstantIndexOp(b, op.getLoc(), sizes[d]);
        stride = b.create<arith::MulIOp>(op.getLoc(), stride, size);
      }
    }
    b.replaceOpWithNewOp<memref::ReinterpretCastOp>(
        op, cast<MemRefType>(op.getType()), source.getBaseBuffer(),
        OpFoldResult(source.getOffset()), sizes, strides);
    return success();
  }
};

} // namespace

void populateSimplificationPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandShape>(patterns.getContext());
  memref::populateExpandStridedMetadataPatterns(patterns);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  populateExponentialPatterns(patterns);
  populateMathsPatterns(patterns);
  populateMathPolynomialApproximationPatterns(patterns);
  populateAffineToStdConversionPatterns(patterns);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
}

LogicalResult convertToLLVM(ModuleOp module, LLVMTypeConverter &types) {
  LLVMConversionTarget target(*module.getContext());
  target.addLegalOp<ModuleOp, UnrealizedConversionCastOp>();
  RewritePatternSet patterns(module.getContext());
  populateSCFToControlFlowConversionPatterns(patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  populateFuncToLLVMConversionPatterns(types, patterns);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(types, patterns);
  populateVectorToLLVMConversionPatterns(types, patterns, /*reassociateFPReductions=*/true,
                                         /*force32BitVectorIndices=*/true);
  return applyPartialConversion(module, target, std::move(patterns));
}

llvm::PipelineTuningOptions tuning() {
  llvm::PipelineTuningOptions options;
  options.LoopVectorization = options.SLPVectorization = false;
  options.ForgetAllSCEVInLoopUnroll = kForgetsLoops;
  return options;
}

void runPasses(llvm::Module &module, llvm::PassBuilder &builder, llvm::ModulePassManager passes) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  passes.run(module, modules);
}

void runDefaultPipeline(llvm::Module &module, llvm::PassBuilder &builder,
                        llvm::OptimizationLevel level) {
  runPasses(module, builder, builder.buildPerModuleDefaultPipeline(level));
}

void dropFences(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function)))
    if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        call && call->getIntrinsicID() == llvm::Intrinsic::arithmetic_fence) {
      call->replaceAllUsesWith(call->getArgOperand(0));
      call->eraseFromParent();
    }
}

} // namespace ditron::lower
