// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of files, FILE.mlir, for the verbs that take them beside those of the library.
#pragma once
#include "ditron/kernels/Registry.h"
#include "ditron/runtime/Mesh.h"
#include "tools/ditron/report/Interpretation.h"
#include <string>
#include <string_view>

namespace ditron::tools {

struct KernelArguments;
struct Task;

/// Whether it names a file and no kernel of the library.
bool isFile(std::string_view kernel);

/// A kernel of a file, described as those of the library are.
struct FileKernel {
  kernels::KernelEntry entry = {};
  Interpretation meaning; ///< what it is to compute
};

/// The kernel of a file, as the verbs launch it. UsageError where the file cannot be read or options
/// are given that are about the library, CompileError where the text or the kernel is wrong.
Kernel readKernelOf(const KernelArguments &arguments);

/// UsageError where the arguments choose a type, a configuration or an axis, which files leave no choice of.
void refuseOptionsOfLibrary(const KernelArguments &arguments);

/// What --shape says of the arguments of a kernel.
struct FileSizes {
  Dimensions dims; ///< those of the signature, without R
  std::vector<kernels::ScalarDefault> scalars;
};
/// Reads "M=64,N=32", by names of dimensions, "A=64x32", by arguments, and "alpha=0.5", of scalars.
/// What is not given is not in the result. UsageError for what the signature does not have, and what
/// contradicts; CompileError where shapes do not fit it.
FileSizes parseFileSizes(const Kernel &kernel, const std::string &text,
                         const runtime::MeshShape &mesh);

/// The task of a kernel of a file, as makeTask has it. UsageError that names what --shape leaves out.
Task makeFileTask(const KernelArguments &arguments, const std::string &shape,
                  const runtime::MeshShape &mesh, int cores, const std::string &target);

} // namespace ditron::tools
