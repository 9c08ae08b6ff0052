// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's table of contents.
#pragma once
#include "ditron/abi/CompileRequest.h"
#include "ditron/targets/gpu/GpuTarget.h"
#include "mlir/Pass/PassManager.h"

namespace ditron {

/// Whether what an op needs, such as a slice to be within its view, is required by ops of its own,
/// as code needs it, or goes without saying, as for a reader.
enum class Checks { implied, explicitly };

/// What is the same for every target: the kernel as the user wrote it, checked and simplified.
void addFrontPipeline(mlir::OpPassManager &passes, Checks checks = Checks::implied);

/// The rest of the way to the LLVM dialect where a core is one thread.
void addCpuPipeline(mlir::OpPassManager &passes, const VectorTraits &target,
                    const CompileRequest &request);

/// The same for a GPU.
void addGpuPipeline(mlir::OpPassManager &passes, const gpu::GpuTarget &target,
                    const CompileRequest &request);
/// Its part that deals tiles to threads and shared memory, after which it is known what they take.
void addGpuTiles(mlir::OpPassManager &passes, const gpu::GpuTarget &target,
                 const CompileRequest &request);

} // namespace ditron
