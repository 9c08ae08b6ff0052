// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the CPU backend: see Passes.td.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/Pass.h"

namespace ditron::cpu {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "ditron/target/cpu/transforms/Passes.h.inc"

} // namespace ditron::cpu
