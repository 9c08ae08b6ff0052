// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the IR of a kernel to code. Inside the compiler errors are diagnostics and LogicalResult;
// here, and only here, they become one CompileError.
#pragma once
#include "ditron/targets/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace ditron {

/// What a compilation gives.
enum class Emit {
  ir,       ///< the kernel after the passes that all targets share
  llvm,     ///< LLVM IR
  assembly, ///< of the target
  object,   ///< an ELF object; see targets/cpu/CpuCode.h for its symbols
};

/// What the code may assume of a launch.
struct Specialization {
  /// For each argument of the kernel: its last dimension has stride 1.
  std::vector<bool> unitStride;
  /// Likewise: the bytes that its address, rows and extents are multiples of, as
  /// core::kAlignmentAttr says; 0 where nothing is known. For GPUs, where threads access so many at
  /// a time and ask nothing; may be shorter than the arguments.
  std::vector<int64_t> alignment = {};
  /// Its launches are recorded: see runtime/Events.h.
  bool recorded = false;
  /// Launches on a GPU may describe the arguments that the code asks for to the copy engine: those
  /// that it reads, and those that it writes.
  bool tensorMaps = true, tensorStores = true;
};

/// Compiles the kernel of `module`, which is not changed, for this machine's CPU. CompileError with
/// the user's line where it cannot be.
std::string compileForCpu(mlir::ModuleOp module, const Specialization &specialization, Emit emit);

/// What code for a GPU is made for.
struct NvidiaTarget {
  std::string chip;     ///< a name of targets/nvidia/Chip.h
  int64_t warps = 0;    ///< of a core; 0: as the tiles ask
  int64_t stages = 0;   ///< of the pipeline of loads; 0: as many as fit
  int64_t resident = 0; ///< cores of a multiprocessor; 0: as tiles and registers ask
};

/// The same for a GPU. Assembly is PTX (see targets/nvidia/emit/NvidiaCode.h for its first line),
/// an object a cubin; UnavailableError where that needs ptxas and there is none.
std::string compileForNvidia(mlir::ModuleOp module, const Specialization &specialization,
                             const NvidiaTarget &target, Emit emit, Resources *resources = nullptr);

/// What a core of a kernel takes of a GPU, as far as it is known before there is code.
struct NvidiaResources {
  int threads = 0;
  int64_t sharedBytes = 0;
  int64_t resident = 1; ///< cores of a multiprocessor that the code is made for
  int64_t values = 0;   ///< registers of a thread that its largest tile takes
};

/// The same for the kernel that compileForNvidia would make, in a fraction of the time.
/// CompileError where it would make none.
NvidiaResources resourcesForNvidia(mlir::ModuleOp module, const Specialization &specialization,
                                   const NvidiaTarget &target);

/// What the compiler itself depends on: its version, LLVM's and this machine's CPU. Part of the key
/// of whatever is kept of compilations.
std::string compilerIdentity();

} // namespace ditron
