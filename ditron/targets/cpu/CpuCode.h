// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machine code for this machine's CPU: made from LLVM IR, kept as an ELF object, loaded by ORC.
//
// The object of a kernel has three symbols: the entry point `ditron_kernel(context, words)`,
// `ditron_plan(context, words, extents)`, which stores the extents of the symmetric memory that a
// launch with these arguments needs, and `ditron_kernel_info`, the text of KernelInfo.
#pragma once
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

/// Symmetric memory that a kernel needs, per launch.
struct Request {
  std::string name;
  bool isSignals = false;
  int64_t elementBytes = 0;
  int64_t rank = 0;
};

/// A kernel's code in memory; gone with this object.
class LoadedCode {
public:
  using Kernel = void (*)(void *context, const int64_t *words);
  using Plan = void (*)(void *context, const int64_t *words, int64_t *extents);

  /// RuntimeError where the object is none of ours.
  LoadedCode(const std::string &object, const std::vector<Symbol> &symbols);
  ~LoadedCode();

  Kernel kernel() const { return kernel_; }
  Plan plan() const { return plan_; }
  int64_t scratchBytes() const { return scratchBytes_; }
  const std::vector<Request> &requests() const { return requests_; }

private:
  struct Jit;
  std::unique_ptr<Jit> jit_;
  Kernel kernel_ = nullptr;
  Plan plan_ = nullptr;
  int64_t scratchBytes_ = 0;
  std::vector<Request> requests_;
};

} // namespace ditron::cpu
