// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/compiler/Dialects.h"
#include "ditron/compiler/Pipeline.h"
#include "ditron/core/TileOps.h"
#include "ditron/core/transforms/Passes.h"
#include "ditron/device/DistOps.h"
#include "ditron/device/transforms/Passes.h"
#include "ditron/lower/Passes.h"
#include "ditron/targets/cpu/transforms/Passes.h"
#include "ditron/targets/nvidia/transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

void ditron::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<core::TileDialect, device::DistDialect, nvidia::NvidiaDialect>();
  registry.insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::NVVM::NVVMDialect, mlir::scf::SCFDialect, mlir::tensor::TensorDialect,
                  mlir::vector::VectorDialect>();
  mlir::func::registerInlinerExtension(registry);
}

void ditron::registerAllPasses() {
  mlir::registerTransformsPasses();
  core::registerPasses();
  device::registerPasses();
  lower::registerPasses();
  cpu::registerPasses();
  nvidia::registerPasses();
  mlir::PassPipelineRegistration<>("ditron-front", "The passes that all targets share",
                                   [](mlir::OpPassManager &passes) { addFrontPipeline(passes); });
  mlir::PassPipelineRegistration<>(
      "ditron-cpu", "The whole way to the LLVM dialect, for a CPU with 64-byte vectors",
      [](mlir::OpPassManager &passes) { addCpuPipeline(passes, {64, 32, 1 << 26}, {}); });
  mlir::PassPipelineRegistration<>(
      "ditron-nvidia", "The whole way to the NVVM dialect, for sm_90a",
      [](mlir::OpPassManager &passes) { addNvidiaPipeline(passes, {.target = "sm_90a"}); });
}
