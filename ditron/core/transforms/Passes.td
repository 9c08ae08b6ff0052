// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the Core level. Each stands in the file of its name.
#ifndef DITRON_CORE_PASSES
#define DITRON_CORE_PASSES

include "mlir/Pass/PassBase.td"

def PromoteVars : Pass<"tile-promote-vars", "::mlir::func::FuncOp"> {
  let summary = "Turns variables into values carried by loops and branches";
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def FuseDot : Pass<"tile-fuse-dot", "::mlir::func::FuncOp"> {
  let summary = "Lets a dot accumulate into what its product is added to";
}

#endif
