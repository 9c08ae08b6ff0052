// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's table of contents.
#pragma once
#include "mlir/Pass/PassManager.h"

namespace ditron {

/// What the lowering may ask of a target: capabilities, never names of chips.
struct TargetTraits {
  int64_t vectorBytes = 16; ///< of a vector register
  int64_t vectorRegisters = 16;
  int64_t coreMemoryBytes = 1 << 26; ///< for the tiles of one core
};

/// Whether what an op needs, such as a slice to be within its view, is required by ops of its own,
/// as code needs it, or goes without saying, as for a reader.
enum class Checks { implied, explicitly };

/// What is the same for every target: the kernel as the user wrote it, checked and simplified.
void addFrontPipeline(mlir::OpPassManager &passes, Checks checks = Checks::implied);

/// The rest of the way to the LLVM dialect for a CPU.
/// `recorded`: its launches are recorded, see runtime/Events.h.
void addCpuPipeline(mlir::OpPassManager &passes, const TargetTraits &target, bool recorded = false);

/// The rest of the way to the LLVM and NVVM dialects for a GPU.
struct NvidiaOptions {
  std::string chip = "sm_90a"; ///< of those in targets/nvidia/Chip.h
  int64_t warps = 0;           ///< of a core; 0: as the tiles ask
  int64_t stages = 0;          ///< of the pipeline of loads; 0: as many as fit
  int64_t resident = 0;        ///< cores of a multiprocessor; 0: as tiles and registers ask
  bool tensorMaps = true;      ///< launches may describe what is read to the copy engine
  bool tensorStores = true;    ///< and what is written
};
void addNvidiaPipeline(mlir::OpPassManager &passes, const NvidiaOptions &options);
/// Its part that deals tiles to threads and shared memory, after which it is known what they take.
void addNvidiaTiles(mlir::OpPassManager &passes, const NvidiaOptions &options);

} // namespace ditron
