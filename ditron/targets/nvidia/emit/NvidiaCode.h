// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX from LLVM IR, and cubins from PTX.
//
// The PTX of a kernel has one entry point, `ditron_kernel`, and begins with a line of comment, its
// description (abi/KernelInfo.h): `// ditron {"version":1,"name":"gemm","threads":256,...}`. Tensor
// maps are parameters behind all others.
#pragma once
#include "ditron/abi/KernelInfo.h"
#include "ditron/targets/Target.h"
#include "ditron/targets/nvidia/Chip.h"
#include <optional>
#include <string>

namespace llvm {
class Module;
}

namespace ditron::nvidia {

/// Optimises the module for a chip, in place.
void optimize(llvm::Module &module, const Chip &chip, const abi::KernelInfo &info);

/// The PTX of an optimised module.
std::string emitPtx(llvm::Module &module, const Chip &chip, const abi::KernelInfo &info);

/// The cubin that ptxas assembles, found in DITRON_PTXAS, CUDA_HOME/bin, on the path or in
/// /usr/local/cuda/bin. UnavailableError if it is nowhere; InternalError with its words if it
/// refuses. `resources`: what ptxas says of it.
std::string assemble(const std::string &ptx, const Chip &chip, Resources *resources = nullptr);

/// Where ptxas is, if it is anywhere.
std::optional<std::string> findAssembler();

} // namespace ditron::nvidia
