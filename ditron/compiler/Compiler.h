// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the IR of a kernel to code. Inside the compiler errors are diagnostics and LogicalResult;
// here, and only here, they become one CompileError.
#pragma once
#include "ditron/abi/CompileRequest.h"
#include "ditron/abi/KernelInfo.h"
#include "ditron/targets/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace ditron {

/// Compiles the kernel of `module`, which is not changed, to what the request asks for. Code,
/// assembly and objects come with their description, which also lies in them: as the symbol
/// `ditron_kernel_info`, or where a target's assembly has no data, as a comment in the first line
/// ("// ditron {...}"). `resources`: what an object takes, where its target tells.
///
/// CompileError with the user's line where there is no such code; UnavailableError for a target
/// that this build does not have, or for an object where a program that makes it is missing.
abi::CompiledKernel compile(mlir::ModuleOp module, const CompileRequest &request,
                            Resources *resources = nullptr);

/// The kernel as the interpreter takes it: after the passes that all targets share, as text with the
/// lines of the program. CompileError where these refuse it.
std::string frontIr(mlir::ModuleOp module);

/// The targets that this build has.
std::vector<std::string> compileTargets();

/// What a core of the kernel that compile would make takes of a GPU, in a fraction of the time.
/// CompileError where it would make none.
GpuResources resourcesOf(mlir::ModuleOp module, const CompileRequest &request);

/// What the compiler itself depends on: its version, LLVM's and this machine's CPU. Part of the key
/// of whatever is kept of compilations.
std::string compilerIdentity();

} // namespace ditron
