// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every target of this build: those of the folders in Targets.def.
#pragma once
#include "ditron/targets/Target.h"

namespace ditron {

/// All of them, in the order of lists. The first is this machine's CPU.
const std::vector<const Target *> &targets();
/// The target of that name; null: there is none.
const Target *findTarget(std::string_view name);
/// The same; UnavailableError with the names of all where there is none.
const Target &targetNamed(std::string_view name);

/// "x86-64: this machine's CPU; gfx942, gfx90a: AMD GPUs".
std::string describeTargets();

/// The dialects and passes of all targets, for tools that read IR.
void registerTargetDialects(mlir::DialectRegistry &registry);
void registerTargetPasses();
/// What code of these targets depends on beside its target.
std::string targetIdentity();

} // namespace ditron
