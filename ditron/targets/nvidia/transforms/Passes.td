// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the NVIDIA backend. Each stands in the file of its name.
#ifndef DITRON_NVIDIA_PASSES
#define DITRON_NVIDIA_PASSES

include "mlir/Pass/PassBase.td"

def CheckSupported : Pass<"nvidia-check-supported", "::mlir::func::FuncOp"> {
  let summary = "Refuses what this backend has no lowering for";
}

def SpreadTiles : Pass<"nvidia-spread-tiles", "::mlir::func::FuncOp"> {
  let summary = "Gives each tile a core of its own, where cores need not be there together";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def FormClusters : Pass<"nvidia-form-clusters", "::mlir::func::FuncOp"> {
  let summary = "Has clusters of cores take tiles together";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::ditron::nvidia::NvidiaDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">];
}

def DistToDevice : Pass<"nvidia-dist-to-device", "::mlir::func::FuncOp"> {
  let summary = "Turns ranks, cores, verbs and requirements into what a device knows of them";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect", "::ditron::nvidia::NvidiaDialect"];
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

def SimplifyDots : Pass<"nvidia-simplify-dots", "::mlir::func::FuncOp"> {
  let summary = "Turns products of 8-bit floats into products of f16, and those of one term into "
                "arithmetic";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">,
    Option<"warps", "warps", "int64_t", "0", "Warps of a core; 0: as many as the tiles ask for">,
    Option<"resident", "resident", "int64_t", "0",
           "Cores of a multiprocessor; 0: as tiles and registers ask">,
    Option<"tensorMaps", "tensor-maps", "bool", "false",
           "Launches may describe the arguments to the copy engine">];
}

def DeferLoads : Pass<"nvidia-defer-loads", "::mlir::func::FuncOp"> {
  let summary = "Finds tiles that may be read part by part, as their store comes to them";
}

def AssignLayouts : Pass<"nvidia-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Deals every tile to the threads of a core, or puts it into shared memory";
  let dependentDialects = ["::ditron::core::TileDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">,
    Option<"warps", "warps", "int64_t", "0", "Warps of a core; 0: as many as the tiles ask for">,
    Option<"resident", "resident", "int64_t", "0",
           "Cores of a multiprocessor; 0: as tiles and registers ask">,
    Option<"tensorMaps", "tensor-maps", "bool", "false",
           "Launches may describe the arguments to the copy engine">,
    Option<"tensorStores", "tensor-stores", "bool", "false",
           "Launches may describe what the kernel writes, too">];
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

def PipelineLoads : Pass<"nvidia-pipeline-loads", "::mlir::func::FuncOp"> {
  let summary = "Fetches the tiles that loops read into shared memory some iterations ahead";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::ditron::nvidia::NvidiaDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">,
    Option<"stages", "stages", "int64_t", "0", "Slots of a ring; 0: as many as fit, at most 4">];
}

def TilesToThreads : Pass<"nvidia-tiles-to-threads", "::mlir::ModuleOp"> {
  let summary = "Turns tiles into the vectors of one thread, and memory into accesses of one thread";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::vector::VectorDialect"];
  let options = [
    Option<"chipName", "chip", "std::string", "\"sm_90a\"", "The chip that code is made for">];
}

def LowerToNvvm : Pass<"nvidia-lower-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Turns what is left into the LLVM and NVVM dialects, and adds the entry point";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::affine::AffineDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif
