// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The description of a kernel (abi/KernelInfo.h), from the attributes of its function: one whose
// name, behind the prefix of its dialect, is that of a field is its value.
//
//   func.func @k(...) attributes {tile.scratch_bytes = 64, dist.symmetric = [{name = "full", ...}]}
//
// says that scratch_bytes is 64 and what symmetric is. A unit attribute is true; a field that no
// attribute names keeps its default. So a fact of launches is a field of KernelInfo, and an
// attribute that the pass sets which knows it.
#pragma once
#include "ditron/abi/KernelInfo.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class Module;
}

namespace ditron::lower {

/// The description as the function's attributes have it; an error where one of them is not of its
/// field's type.
mlir::FailureOr<abi::KernelInfo> describeKernel(mlir::func::FuncOp kernel);

/// The descriptions of a module's kernels go with it, as texts, when their functions become others.
void attachInfos(mlir::ModuleOp module, llvm::ArrayRef<abi::KernelInfo> infos);
std::vector<abi::KernelInfo> attachedInfos(mlir::ModuleOp module);

/// Adds the text of the description to code, as the constant `ditron_kernel_info`, which lies where
/// the target has constants.
void embedInfo(const abi::KernelInfo &info, llvm::Module &code, unsigned addressSpace = 0);

} // namespace ditron::lower
