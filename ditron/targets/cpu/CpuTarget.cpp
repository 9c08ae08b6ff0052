// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This machine's CPU as a target.
#include "ditron/lower/DescribeKernel.h"
#include "ditron/targets/Target.h"
#include "ditron/targets/cpu/CpuCode.h"
#include "ditron/targets/cpu/transforms/Passes.h"

namespace ditron::cpu {

namespace {

class CpuTarget final : public Target {
  std::string_view name() const override { return "x86-64"; }
  std::string_view machines() const override { return "this machine's CPU"; }
  VectorTraits vectorTraits() const override {
    HostMachine host;
    return {.vectorBytes = host.vectorBytes(),
            .vectorRegisters = host.vectorRegisters(),
            .multipliesPairs = host.multipliesPairs()};
  }
  void optimize(llvm::Module &code, const abi::KernelInfo &info) const override {
    lower::embedInfo(info, code);
    HostMachine().optimize(code);
  }
  std::string assembly(llvm::Module &code, const abi::KernelInfo &) const override {
    return HostMachine().emitAssembly(code);
  }
  std::string object(llvm::Module &code, const abi::KernelInfo &, Resources *) const override {
    return HostMachine().emitObject(code);
  }
};

} // namespace

const TargetFamily &family();
const TargetFamily &family() {
  static const CpuTarget target;
  static const TargetFamily family{
      {&target}, [](mlir::DialectRegistry &) {}, [] { registerPasses(); }, HostMachine::identity};
  return family;
}

} // namespace ditron::cpu
