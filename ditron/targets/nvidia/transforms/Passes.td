// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the NVIDIA backend. Each stands in the file of its name.
#ifndef DITRON_NVIDIA_PASSES
#define DITRON_NVIDIA_PASSES

include "mlir/Pass/PassBase.td"

def FormClusters : Pass<"nvidia-form-clusters", "::mlir::func::FuncOp"> {
  let summary = "Forms clusters of CTAs that share tiles by multicast";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::ditron::nvidia::NvidiaDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">];
}

def SwapOperands : Pass<"nvidia-swap-operands", "::mlir::func::FuncOp"> {
  let summary = "Swaps the operands of products of few rows (swap-AB), where wgmma can then compute them";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::ditron::core::TileDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">,
    Option<"warps", "warps", "int64_t", "0", "Warps of a CTA; 0: as many as the tiles ask for">,
    Option<"ctasPerSm", "ctas-per-sm", "int64_t", "0",
           "CTAs per SM; 0: as tiles and registers ask">];
}

def SliceProducts : Pass<"nvidia-slice-products", "::mlir::func::FuncOp"> {
  let summary = "Slices the terms of products of few rows over the warps (sliced-K)";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::ditron::core::TileDialect",
                           "::ditron::nvidia::NvidiaDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">,
    Option<"tensorMaps", "tensor-maps", "bool", "false", "Launches describe what tiles are read from">,
    Option<"warps", "warps", "int64_t", "0", "Warps of a CTA; 0: as many as the tiles ask for">,
    Option<"ctasPerSm", "ctas-per-sm", "int64_t", "0",
           "CTAs per SM; 0: as tiles and registers ask">];
}

def SpecializeWarps : Pass<"nvidia-specialize-warps", "::mlir::func::FuncOp"> {
  let summary = "Specialises warps: a producer thread loads tiles by TMA, consumer warpgroups multiply them";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::ditron::nvidia::NvidiaDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">,
    Option<"stages", "stages", "int64_t", "0", "Slots of a pipe; 0: as many as fit, at most 16">,
    Option<"tensorStores", "tensor-stores", "bool", "false",
           "Launches may describe what the kernel writes, too">];
}

def StreamConstants : Pass<"nvidia-stream-constants", "::mlir::func::FuncOp"> {
  let summary = "A producer warp copies weights and caches of a graph's tasks into a ring, ahead of the tasks";
  let dependentDialects = ["::ditron::nvidia::NvidiaDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">,
    Option<"stages", "stages", "int64_t", "0", "Slots of the ring; 0: as many as are useful">];
}

def LoadFirst : Pass<"nvidia-load-first", "::mlir::func::FuncOp"> {
  let summary = "Tiles that short loops load beside streamed rows come before the first step";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def DependentLaunch : Pass<"nvidia-dependent-launch", "::mlir::func::FuncOp"> {
  let summary = "Programmatic dependent launch: begins while the launch before runs, and waits where it touches memory";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect", "::ditron::gpu::SimtDialect",
                           "::ditron::nvidia::NvidiaDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">,
    Option<"inGraph", "in-graph", "bool", "false", "Each rank launches it from a graph, on a GPU of its own">];
}

#endif
