// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/compiler/Dialects.h"
#include "ditron/compiler/Pipeline.h"
#include "ditron/core/TileOps.h"
#include "ditron/core/transforms/Passes.h"
#include "ditron/device/DistOps.h"
#include "ditron/device/transforms/Passes.h"
#include "ditron/lower/Passes.h"
#include "ditron/targets/Targets.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "ditron/task/TaskOps.h"
#include "ditron/task/transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

void ditron::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<core::TileDialect, device::DistDialect, task::TaskDialect, gpu::SimtDialect>();
  registerTargetDialects(registry);
  registry
      .insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
              mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
              mlir::scf::SCFDialect, mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
  mlir::func::registerInlinerExtension(registry);
}

namespace {

struct GpuPipelineOptions : mlir::PassPipelineOptions<GpuPipelineOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("The GPU that code is made for; none: the first one")};
};

/// The GPU of that name, or the first; null: there is none.
const ditron::gpu::GpuTarget *gpuNamed(llvm::StringRef name) {
  for (const ditron::Target *target : ditron::targets())
    if (target->gpu() && (name.empty() || name == llvm::StringRef(target->name())))
      return target->gpu();
  return nullptr;
}

} // namespace

void ditron::registerAllPasses() {
  mlir::registerTransformsPasses();
  core::registerPasses();
  device::registerPasses();
  task::registerPasses();
  lower::registerPasses();
  gpu::registerPasses();
  registerTargetPasses();
  mlir::PassPipelineRegistration<>("ditron-front", "The passes that all targets share",
                                   [](mlir::OpPassManager &passes) { addFrontPipeline(passes); });
  mlir::PassPipelineRegistration<>(
      "ditron-cpu", "The whole way to the LLVM dialect, for a CPU with 64-byte vectors",
      [](mlir::OpPassManager &passes) { addCpuPipeline(passes, {64, 32}, {}); });
  mlir::PassPipelineRegistration<GpuPipelineOptions>(
      "ditron-gpu", "The whole way to the LLVM dialect, for a GPU",
      [](mlir::OpPassManager &passes, const GpuPipelineOptions &options) {
        if (const gpu::GpuTarget *target = gpuNamed(options.target))
          addGpuPipeline(passes, *target, {});
      });
}
