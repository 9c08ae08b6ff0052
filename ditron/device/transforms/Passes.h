// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of this level: see Passes.td.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace ditron::device {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "ditron/device/transforms/Passes.h.inc"

} // namespace ditron::device
