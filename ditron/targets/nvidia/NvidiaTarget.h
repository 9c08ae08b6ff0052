// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A chip of NVIDIA's as a target.
#pragma once
#include "ditron/targets/gpu/GpuTarget.h"
#include "ditron/targets/nvidia/Chip.h"

namespace ditron::nvidia {

class NvidiaTarget final : public gpu::GpuTarget {
public:
  explicit NvidiaTarget(const Chip &chip);
  const Chip &chip() const { return chip_; }

  std::string_view name() const override { return chip_.name; }
  std::string_view machines() const override { return "NVIDIA GPUs"; }
  DeviceTraits deviceTraits() const override;
  bool isFor(std::string_view architecture) const override;
  bool runsOn(std::string_view architecture) const override;
  void registerTranslations(mlir::DialectRegistry &registry) const override;
  bool launchesAssembly() const override { return true; }
  void optimize(llvm::Module &code, const abi::KernelInfo &info) const override;
  std::string assembly(llvm::Module &code, const abi::KernelInfo &info) const override;
  std::string object(llvm::Module &code, const abi::KernelInfo &info,
                     Resources *resources) const override;

  const gpu::Traits &traits() const override { return traits_; }
  std::unique_ptr<gpu::Products> products(mlir::func::FuncOp function,
                                          const CompileRequest &request) const override;
  std::unique_ptr<gpu::Instructions> instructions(mlir::OpBuilder &b, mlir::Location loc,
                                                  gpu::Meeting threads) const override;
  llvm::StringRef syncScope(gpu::ScopeName scope) const override;
  void addPasses(Stage stage, mlir::OpPassManager &kernel,
                 const CompileRequest &request) const override;
  void addThreadPatterns(mlir::TypeConverter &types, mlir::ConversionTarget &legal,
                         mlir::RewritePatternSet &patterns,
                         const gpu::ThreadContext &context) const override;
  void addMathPatterns(mlir::RewritePatternSet &patterns) const override;
  void finishEntry(mlir::LLVM::LLVMFuncOp entry, int64_t threads, int64_t ctasPerSm) const override;

private:
  const Chip &chip_;
  gpu::Traits traits_;
};

} // namespace ditron::nvidia
