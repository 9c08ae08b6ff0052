// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the Task level. Each stands in the file of its name.
#ifndef DITRON_TASK_PASSES
#define DITRON_TASK_PASSES

include "mlir/Pass/PassBase.td"

def InferEdges : Pass<"task-edges", "::mlir::ModuleOp"> {
  let summary = "Writes down which tiles of a node follow which tiles of others";
}

def FuseMegakernel : Pass<"task-fuse", "::mlir::ModuleOp"> {
  let summary = "Makes one persistent kernel of a graph";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif
