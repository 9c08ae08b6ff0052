// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX from LLVM IR, and cubins from PTX.
//
// The PTX of a kernel has one entry point, `ditron_kernel`, and begins with a line of comment that
// says what launches it: `// ditron {"kernel":"gemm","threads":256,"shared_bytes":65536,...}`.
// Its `tensor_maps` are parameters behind all others: of each the number of the argument whose
// memory it describes, and the box, outermost extent first, whose innermost one is 128 bytes.
// `read_singly` has the numbers of arguments whose alignment makes no difference to the code.
#pragma once
#include "ditron/targets/Target.h"
#include "ditron/targets/nvidia/Chip.h"
#include <optional>
#include <string>

namespace llvm {
class Module;
}

namespace ditron::nvidia {

/// Optimises the module for a chip, in place.
void optimize(llvm::Module &module, const Chip &chip);

/// The PTX of an optimised module, without its first line.
std::string emitPtx(llvm::Module &module, const Chip &chip);

/// The cubin that ptxas assembles, found in DITRON_PTXAS, CUDA_HOME/bin, on the path or in
/// /usr/local/cuda/bin. UnavailableError if it is nowhere; InternalError with its words if it
/// refuses. `resources`: what ptxas says of it.
std::string assemble(const std::string &ptx, const Chip &chip, Resources *resources = nullptr);

/// Where ptxas is, if it is anywhere.
std::optional<std::string> findAssembler();

} // namespace ditron::nvidia
