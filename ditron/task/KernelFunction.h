// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions marked tile.kernel as kernels: what graphs in the IR name.
#pragma once
#include "ditron/lang/Trace.h"

namespace ditron::task {

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
