// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowering shared by the backends. Each pass stands in the file of its name.
#ifndef DITRON_LOWER_PASSES
#define DITRON_LOWER_PASSES

include "mlir/Pass/PassBase.td"

def CheckBounds : Pass<"lower-check-bounds", "::mlir::func::FuncOp"> {
  let summary = "Requires, in front of each op, what keeps it within memory";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def DefineArithmetic : Pass<"lower-define-arithmetic", "::mlir::func::FuncOp"> {
  let summary = "Defines what LLVM leaves open: unsigned numbers by 0, floats beyond integers";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::ditron::core::TileDialect"];
}

def ProveRequirements : Pass<"lower-prove-requirements", "::mlir::func::FuncOp"> {
  let summary = "Drops requirements that hold for all tiles";
}

def HoistSymmetric : Pass<"lower-hoist-symmetric", "::mlir::ModuleOp"> {
  let summary = "Turns symmetric buffers and signals into arguments, and says what a launch "
                "provides as them";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def OutlineCopyRoles : Pass<"lower-outline-copy-roles", "::mlir::func::FuncOp"> {
  let summary = "Turns roles of copy engines into a program that launches follow on the host";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

#endif
