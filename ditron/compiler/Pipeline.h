// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's table of contents.
#pragma once
#include "ditron/abi/CompileRequest.h"
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
void addCpuPipeline(mlir::OpPassManager &passes, const TargetTraits &target,
                    const CompileRequest &request);

/// The rest of the way to the LLVM and NVVM dialects for a GPU.
void addNvidiaPipeline(mlir::OpPassManager &passes, const CompileRequest &request);
/// Its part that deals tiles to threads and shared memory, after which it is known what they take.
void addNvidiaTiles(mlir::OpPassManager &passes, const CompileRequest &request);

} // namespace ditron
