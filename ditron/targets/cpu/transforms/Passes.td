// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the CPU backend. Each stands in the file of its name.
#ifndef DITRON_CPU_PASSES
#define DITRON_CPU_PASSES

include "mlir/Pass/PassBase.td"

def TilesToLoops : Pass<"cpu-tiles-to-loops", "::mlir::func::FuncOp"> {
  let summary = "Turns tiles into loops over vectors, with buffers in the core's scratch memory";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
  let options = [
    Option<"vectorBytes", "vector-bytes", "int64_t", "64", "Bytes of a vector register">,
    Option<"registers", "registers", "int64_t", "32", "Vector registers">,
    Option<"memoryBytes", "memory-bytes", "int64_t", "67108864", "Bytes of a core's memory for tiles">,
    Option<"multipliesPairs", "multiplies-pairs", "bool", "false", "Multiplies pairs of bf16 (AVX512-BF16)">];
}

def LookUpNibbles : Pass<"cpu-look-up-nibbles", "::mlir::func::FuncOp"> {
  let summary = "Looks up in a vector what is computed from four bits in every lane (AVX-512)";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def DistToRuntime : Pass<"cpu-dist-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Turns the verbs of the Device level into calls of the runtime";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def SelectViews : Pass<"cpu-select-views", "::mlir::ModuleOp"> {
  let summary = "Reads views that are selected among arguments from the words of the launch";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def LowerToLLVM : Pass<"cpu-lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Turns loops, vectors and memory into the LLVM dialect, and adds the entry points";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::affine::AffineDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif
