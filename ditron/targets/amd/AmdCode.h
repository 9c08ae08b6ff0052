// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code objects from LLVM IR: what HIP loads and launches. A code object has one kernel,
// `ditron_kernel`, its descriptor and its metadata, which say where arguments lie, how many threads
// a workgroup has and what each of them takes.
#pragma once
#include "ditron/targets/Target.h"
#include "ditron/targets/amd/AmdChip.h"

namespace ditron::amd {

/// Optimises the module for a chip, in place.
void optimize(llvm::Module &module, const Chip &chip);

/// The assembly of an optimised module.
std::string emitAssembly(llvm::Module &module, const Chip &chip);

/// The code object of an optimised module, linked by lld, which is found in DITRON_LLD, on the path
/// or in ROCm. UnavailableError if it is nowhere; InternalError with its words if it refuses.
std::string emitObject(llvm::Module &module, const Chip &chip);

/// What the metadata of a code object say that its kernel takes.
Resources resourcesOf(const std::string &object);

} // namespace ditron::amd
