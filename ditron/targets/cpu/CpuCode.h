// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machine code for this machine's CPU: made from LLVM IR, kept as an ELF object, loaded by ORC.
//
// The object of a kernel has two symbols: the entry point `ditron_kernel(context, words)`, and
// `ditron_kernel_info`, the text of its description (abi/KernelInfo.h).
#pragma once
#include "ditron/abi/KernelInfo.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace ditron::cpu {

/// The CPU that this process runs on, as a code generator; or, by DITRON_CPU, an older one whose
/// features it has (x86-64-v3). UsageError where that is unknown or has more.
class HostMachine {
public:
  HostMachine();
  ~HostMachine();

  /// Bytes of a vector register, and how many there are.
  int64_t vectorBytes() const;
  int64_t vectorRegisters() const;
  /// Whether one instruction adds products of pairs of bf16 to a vector of f32.
  bool multipliesPairs() const;
  /// The CPU's name and features, and the sanitizer that kernels are instrumented for, if any.
  static std::string identity();

  void optimize(llvm::Module &module) const;
  std::string emitAssembly(llvm::Module &module) const;
  std::string emitObject(llvm::Module &module) const;

private:
  bool hasFeature(const char *feature) const;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

/// A function that kernels call.
struct Symbol {
  const char *name;
  void *address;
};

/// A kernel's code in memory; gone with this object.
class LoadedCode {
public:
  using Kernel = void (*)(void *context, const int64_t *words);

  /// RuntimeError where the object is none of ours.
  LoadedCode(const abi::CompiledKernel &compiled, const std::vector<Symbol> &symbols);
  ~LoadedCode();

  Kernel kernel() const { return kernel_; }
  const abi::KernelInfo &info() const { return info_; }

private:
  struct Jit;
  std::unique_ptr<Jit> jit_;
  Kernel kernel_ = nullptr;
  abi::KernelInfo info_;
};

} // namespace ditron::cpu
