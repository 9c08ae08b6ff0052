// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compilation of kernels, shared by the ranks of a process and kept on disk.
#pragma once
#include "ditron/abi/CompileRequest.h"
#include "ditron/abi/KernelInfo.h"
#include "ditron/driver/Program.h"
#include "ditron/support/DeviceTraits.h"
#include "ditron/targets/Target.h"
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ditron {

namespace cpu {
class LoadedCode;
}

/// The targets that this build has.
std::vector<std::string> compileTargets();

/// The request for launches whose tensors all have neighbouring elements in the last dimension and
/// this alignment, in bytes (see CompileRequest; 0: any).
CompileRequest requestFor(const Kernel &kernel, std::string_view target,
                          const Schedule &schedule = {}, int64_t alignment = 0);

/// The kernel compiled as the request says, not kept: text, or bytes of an object. Errors as of
/// compile (compiler/Compiler.h).
/// `resources`: what an object takes, where its target tells.
std::string compileTo(const Kernel &kernel, const CompileRequest &request,
                      Resources *resources = nullptr);

/// A kernel's code and its description, and what it took to get them.
struct BuiltKernel : abi::CompiledKernel {
  CompileReport report;
};

/// What takes code to where it runs; RuntimeError where it does not load.
using CodeLoader = std::function<void(const abi::CompiledKernel &)>;

/// The kernel's code for launches: from the cache on disk, else compiled. Code from the cache that
/// does not load is compiled anew. Kernels may be built, and asked about, in several threads at a
/// time.
BuiltKernel buildKernel(
    const Kernel &kernel, const CompileRequest &request,
    const CodeLoader &load = [](const abi::CompiledKernel &) {});

/// What a CTA of the kernel takes of a GPU, without making the code. CompileError where there
/// would be none.
GpuResources gpuResources(const Kernel &kernel, const CompileRequest &request);

/// The target whose code runs on devices of an architecture (Device::target): the newest, or by
/// DITRON_GPU an older one. UnavailableError if none does, UsageError where that one does not.
std::string targetFor(std::string_view architecture);
/// What configurations are chosen by for a target of ditron compile.
DeviceTraits traitsOf(std::string_view target);

/// Code in memory, and what it took to get there.
struct LoadedKernel {
  std::shared_ptr<const cpu::LoadedCode> code;
  CompileReport report;
};

/// The kernel's code on this CPU: from this process, else as buildKernel.
LoadedKernel loadKernel(const Kernel &kernel, const CompileRequest &request);

} // namespace ditron
