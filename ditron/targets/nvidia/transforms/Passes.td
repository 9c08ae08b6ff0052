// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the NVIDIA backend. Each stands in the file of its name.
#ifndef DITRON_NVIDIA_PASSES
#define DITRON_NVIDIA_PASSES

include "mlir/Pass/PassBase.td"

def FormClusters : Pass<"nvidia-form-clusters", "::mlir::func::FuncOp"> {
  let summary = "Has clusters of cores take tiles together";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::ditron::nvidia::NvidiaDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">];
}

def TurnProducts : Pass<"nvidia-turn-products", "::mlir::func::FuncOp"> {
  let summary = "Computes products of few rows transposed, where warpgroups multiply them then";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::ditron::core::TileDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">,
    Option<"warps", "warps", "int64_t", "0", "Warps of a core; 0: as many as the tiles ask for">,
    Option<"resident", "resident", "int64_t", "0",
           "Cores of a multiprocessor; 0: as tiles and registers ask">];
}

def SpecializeWarps : Pass<"nvidia-specialize-warps", "::mlir::func::FuncOp"> {
  let summary = "Splits a kernel into a thread that feeds tiles and warpgroups that multiply them";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::ditron::nvidia::NvidiaDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">,
    Option<"stages", "stages", "int64_t", "0", "Slots of a pipe; 0: as many as fit, at most 16">,
    Option<"tensorStores", "tensor-stores", "bool", "false",
           "Launches may describe what the kernel writes, too">];
}

def OverlapLaunches : Pass<"nvidia-overlap-launches", "::mlir::func::FuncOp"> {
  let summary = "Has a launch begin while the one before it runs, and wait for it where it touches memory";
  let dependentDialects = ["::ditron::nvidia::NvidiaDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">];
}

#endif
