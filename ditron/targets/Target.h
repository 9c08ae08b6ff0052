// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the compiler, the driver and the tools ask of a target: one chip, or one kind of CPU, that
// code is made for. A folder beside this file has a family of targets: a function `family()` in the folder's
// namespace, which a line of Targets.def makes known. What the lowering to threads asks besides is
// in gpu/GpuTarget.h.
#pragma once
#include "ditron/support/DeviceTraits.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class Module;
}
namespace mlir {
class DialectRegistry;
}

namespace ditron {

namespace abi {
struct KernelInfo;
}
namespace gpu {
class GpuTarget;
}

/// What the lowering to loops over vectors asks.
struct VectorTraits {
  int64_t vectorBytes = 16; ///< of a vector register
  int64_t vectorRegisters = 16;
  int64_t coreMemoryBytes = 1 << 26; ///< for the tiles of one core
  bool multipliesPairs = false; ///< one instruction adds products of pairs of bf16 to sums of f32
};

/// What the object of a kernel takes, by those who assembled it.
struct Resources {
  int64_t registers = 0;            ///< of a thread, of 4 bytes: VGPRs on AMD
  int64_t scalarRegisters = 0;      ///< of a wavefront, where they are counted: SGPRs
  int64_t accumulatorRegisters = 0; ///< of a thread, where they are counted: AGPRs
  int64_t sharedBytes = 0;          ///< of a CTA, known before its launch
  int64_t spilledBytes = 0;         ///< that a thread spills
  int64_t stackBytes = 0;           ///< of a thread: scratch
};

/// "34 registers, 0 bytes spilled, ...".
std::string describe(const Resources &resources);

class Target {
public:
  virtual ~Target();

  /// As `--target` says it: "gfx942".
  virtual std::string_view name() const = 0;
  /// What has such chips, for lists: "AMD GPUs".
  virtual std::string_view machines() const = 0;
  /// The questions of the lowering to threads; null: a core is one thread.
  virtual const gpu::GpuTarget *gpu() const { return nullptr; }
  /// What configurations of kernels are chosen by.
  virtual DeviceTraits deviceTraits() const { return {}; }
  virtual VectorTraits vectorTraits() const { return {}; }
  /// Whether a device that names its architecture so ("gfx942") is one of these machines, and
  /// whether it runs the code.
  virtual bool isFor(std::string_view architecture) const { return false; }
  virtual bool runsOn(std::string_view architecture) const { return false; }

  /// What turns the dialects that its passes end with into LLVM IR.
  virtual void registerTranslations(mlir::DialectRegistry &registry) const {}
  /// Whether launches load assembly, which a driver finishes; else objects.
  virtual bool launchesAssembly() const { return false; }
  /// Optimises the code, in place. What it becomes has its description with it.
  virtual void optimize(llvm::Module &code, const abi::KernelInfo &info) const = 0;
  /// Optimised code as text.
  virtual std::string assembly(llvm::Module &code, const abi::KernelInfo &info) const = 0;
  /// Optimised code as an object, and what it takes, if asked for. UnavailableError where a program
  /// that makes it is missing.
  virtual std::string object(llvm::Module &code, const abi::KernelInfo &info,
                             Resources *resources = nullptr) const = 0;
};

/// The targets of a folder, and what they need.
struct TargetFamily {
  std::vector<const Target *> targets; ///< newest first
  void (*registerDialects)(mlir::DialectRegistry &registry);
  void (*registerPasses)();
  /// What its code depends on beside the target: this machine, for a target that is this machine.
  /// Null: nothing.
  std::string (*identity)() = nullptr;
};

} // namespace ditron
