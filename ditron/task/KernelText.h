// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels as text: functions of `tile` and `dist` that are marked tile.kernel, as `ditron compile
// --emit ir` prints them.
//
//   Kernel kernel = readKernel({.text = ..., .file = "gemm.mlir"});
//   ctx.compile(kernel)(A, B, C);
#pragma once
#include "ditron/lang/Kernel.h"
#include <string>
#include <vector>

namespace ditron {

/// A module with kernels.
struct KernelText {
  std::string text;
  std::string file = "kernel.mlir"; ///< where it stands, for messages
};

/// The kernel of this name; the only one where it is empty. Its signature has the names and extents
/// that the function's attributes give (tile.name, tile.extents), else `argument0[argument0_0, ...]`;
/// what is not tile.readonly is an output. CompileError where there is no such kernel, or its arguments
/// are not inputs, then outputs.
Kernel readKernel(const KernelText &source, const std::string &name = {});

/// The names of the module's kernels. CompileError as above.
std::vector<std::string> kernelsOf(const KernelText &source);

} // namespace ditron
