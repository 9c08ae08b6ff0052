// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compilation of kernels, shared by the ranks of a process and kept on disk.
#pragma once
#include "ditron/driver/Context.h"
#include <memory>
#include <string>
#include <vector>

namespace ditron {

namespace cpu {
class LoadedCode;
}

/// What `ditron compile` can print of a kernel.
enum class CompileOutput { ir, llvm, assembly, object };

/// The kernel compiled for `target` as text or, an object, as bytes. UnavailableError for a target
/// that this build does not have.
std::string compileTo(const Kernel &kernel, const Schedule &schedule, std::string_view target,
                      CompileOutput output);

/// The targets that this build has.
std::vector<std::string> compileTargets();

/// A kernel's code for a GPU, and what its launch needs to know.
struct GpuCode {
  /// A tile.require of the kernel: its message, with {} for values, and where it was written.
  struct Requirement {
    std::string message, file;
    int64_t line = 0;
  };
  /// A tensor map that a launch passes: of which argument, for copies of which box.
  struct TensorMap {
    size_t argument = 0;
    std::vector<int64_t> box;
    bool roundsToTf32 = false; ///< elements of f32, on the way
  };
  std::string ptx;
  int threads = 0; ///< of a core
  int sharedBytes = 0;
  std::vector<Requirement> requirements;
  std::vector<TensorMap> tensorMaps;
  CompileReport report;
};

/// What a kernel's code for a GPU may assume of launches.
struct GpuVariant {
  std::vector<bool> unitStride; ///< of each argument, as for loadKernel
  /// They may have the tensor maps that the code asks for: of what it reads, and of what it writes.
  bool tensorMaps = true, tensorStores = true;
  auto operator<=>(const GpuVariant &) const = default;
};

/// The same as loadKernel for a chip of target/nvidia/Chip.h: from the cache on disk, else
/// compiled.
GpuCode loadGpuCode(const Kernel &kernel, const Schedule &schedule, const GpuVariant &variant,
                    const std::string &chip);

/// The target whose code runs on a GPU of this compute capability. UnavailableError if none does.
std::string gpuTarget(int major, int minor);
/// What configurations are chosen by for a target of GPUs: see target/nvidia/Chip.h.
struct GpuTraits {
  int64_t accumulator, multiprocessors;
};
GpuTraits gpuTraits(std::string_view target);

/// Code in memory, and what it took to get there.
struct LoadedKernel {
  std::shared_ptr<const cpu::LoadedCode> code;
  CompileReport report;
};

/// The kernel's code for arguments of which `unitStride` have neighbouring elements in the last
/// dimension: from this process, else from the cache on disk, else compiled.
LoadedKernel loadKernel(const Kernel &kernel, const Schedule &schedule,
                        const std::vector<bool> &unitStride, const CompileOptions &options = {});

} // namespace ditron
