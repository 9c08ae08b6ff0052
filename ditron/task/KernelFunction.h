// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions marked tile.kernel as kernels: what graphs in the IR name.
#pragma once
#include "ditron/lang/Trace.h"

namespace ditron::task {

/// The names of a module's functions marked tile.kernel. CompileError where there is none.
std::vector<std::string> kernelNames(mlir::ModuleOp module);
/// The function of a kernel by name, or the only one where that is empty. CompileError where there is
/// no such kernel, or the name of one of several is missing.
mlir::func::FuncOp findKernel(mlir::ModuleOp module, const std::string &name);

/// The signature and parameters that a function shows: names, extents and what it only reads, by its
/// attributes. Without IR: it can be given to nodes, not compiled. CompileError, without a place, where
/// the function is no kernel of a graph.
Kernel signatureOf(mlir::func::FuncOp function);

/// The function as a kernel in a context of its own.
Kernel kernelOf(mlir::func::FuncOp function);

/// A copy of the kernel's function at the end of a module, whose name is another one where the
/// module has that name already.
mlir::func::FuncOp addFunction(const Kernel &kernel, mlir::ModuleOp module);

} // namespace ditron::task
