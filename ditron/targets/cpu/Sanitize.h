// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels under the sanitizer of the build that compiles them: their loads and stores call its
// runtime in this process, so that a race or an overrun of a kernel is reported as one of C++ is.
// In a build without a sanitizer nothing here changes anything.
#pragma once
#include "llvm/IR/PassManager.h"
#include <string>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace ditron::cpu {

/// " under the thread sanitizer", " under the address sanitizer" or nothing: what sets a kernel's
/// code apart from that of other builds.
std::string sanitizerIdentity();

/// Marks the functions, before they are optimised, as ones that will be instrumented.
void markForSanitizer(llvm::Module &module);

/// Instruments at the end of the optimisations.
void addSanitizerPasses(llvm::ModulePassManager &passes, llvm::TargetMachine *machine);

} // namespace ditron::cpu
