// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compilation of kernels, shared by the ranks of a process and kept on disk.
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/targets/Target.h"
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
/// that this build does not have. For a GPU: as for launches whose tensors all have this alignment,
/// in bytes (see Specialization of compiler/Compiler.h); 0: any.
/// `resources`: what an object takes, where its target tells.
std::string compileTo(const Kernel &kernel, const Schedule &schedule, std::string_view target,
                      CompileOutput output, int64_t alignment = 0, Resources *resources = nullptr);

/// The targets that this build has.
std::vector<std::string> compileTargets();

/// A kernel's code for a GPU, and what its launch needs to know.
struct GpuCode {
  /// A tile.require of the kernel: its message, with {} for values, and where it was written.
  struct Requirement {
    std::string message, file;
    int64_t line = 0;
  };
  /// A tensor map that a launch passes: of which argument, for copies of which box. Symmetric
  /// memory counts behind the kernel's arguments, and has its pages as a first dimension.
  struct TensorMap {
    size_t argument = 0;
    std::vector<int64_t> box;
    bool roundsToTf32 = false; ///< elements of f32, on the way
  };
  /// Symmetric memory that a launch provides; its extents in postfix, as evaluateExtent reads them.
  struct Symmetric {
    std::string name;
    bool isSignals = false;
    int64_t elementBytes = 0;
    std::vector<std::string> extents;
  };
  /// A wait of the kernel.
  struct Site {
    std::string role, file, what;
    int64_t line = 0;
  };
  std::string ptx;
  int threads = 0; ///< of a core
  int sharedBytes = 0;
  int cluster = 1;       ///< cores that are launched side by side
  bool overlaps = false; ///< it may be launched before what it follows has ended: it waits itself
  /// Numbers of tiles, as evaluateExtent reads them: a launch has a core for each of the largest
  /// of them. Empty: it has as many cores as fit.
  std::vector<std::string> tiles;
  /// The numbers of arguments that are read element by element: the same code serves any alignment
  /// of theirs.
  std::vector<size_t> readSingly;
  std::vector<Requirement> requirements;
  std::vector<TensorMap> tensorMaps;
  bool isDistributed = false; ///< it takes all words of support/GpuLaunch.h
  std::vector<Symmetric> symmetric;
  std::vector<Site> sites;
  int64_t barriers = 0;
  CompileReport report;
};

/// An extent of symmetric memory, or a number of tiles, for a launch: the value of such text as
/// targets/gpu/analysis/ExtentText.h writes.
int64_t evaluateExtent(const std::string &text, const std::vector<KernelArgument> &arguments,
                       int64_t ranks);

/// What a kernel's code for a GPU may assume of launches.
struct GpuVariant {
  std::vector<bool> unitStride; ///< of each argument, as for loadKernel
  /// They may have the tensor maps that the code asks for: of what it reads, and of what it writes.
  bool tensorMaps = true, tensorStores = true;
  std::vector<int64_t> alignment = {}; ///< of each argument: see Specialization; may be shorter
  auto operator<=>(const GpuVariant &) const = default;
};

/// The same as loadKernel for a GPU of compileTargets(): from the cache on disk, else
/// compiled.
GpuCode loadGpuCode(const Kernel &kernel, const Schedule &schedule, const GpuVariant &variant,
                    const std::string &chip);

/// What a core of the kernel takes of a GPU: see NvidiaResources of compiler/Compiler.h.
struct GpuResources {
  int threads = 0;
  int64_t sharedBytes = 0, resident = 1, values = 0;
};
/// The same without making the code. CompileError where there would be none. Kernels may be asked
/// about, and loaded, in several threads at a time.
GpuResources gpuResources(const Kernel &kernel, const Schedule &schedule, const GpuVariant &variant,
                          const std::string &chip);

/// The target whose code runs on a GPU of this compute capability: the newest, or by DITRON_GPU an
/// older one. UnavailableError if none does, UsageError where that one does not.
std::string gpuTarget(int major, int minor);
/// What configurations are chosen by for a target of GPUs.
TileTraits gpuTraits(std::string_view target);

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
