// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of this level: see Passes.td.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ditron::task {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "ditron/task/transforms/Passes.h.inc"

} // namespace ditron::task
