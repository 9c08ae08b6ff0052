// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/TracedSource.h"
#include "ditron/compiler/Compiler.h"
#include "ditron/driver/Compile.h"
#include "ditron/driver/LaunchChecks.h"
#include "ditron/lang/Trace.h"

namespace ditron {

std::string TracedSource::ir() const {
  std::lock_guard own(kernel_.traced().compiling);
  return frontIr(kernel_.traced().module.get());
}

void TracedSource::check(const std::vector<KernelArgument> &arguments,
                         const runtime::Device &device, int64_t ranks) const {
  checkArguments(kernel_, arguments, device, ranks);
}

std::vector<int64_t> TracedSource::words(const std::vector<KernelArgument> &arguments) const {
  return toWords(kernel_, arguments);
}

CompileRequest TracedSource::request(const runtime::Device &device) const {
  std::string target = targetFor(device.target());
  return {.target = target,
          .schedule = schedule_,
          .graphArguments = options_.graphArguments,
          .mesh = device.mesh(),
          .recorded = options_.recorded,
          .inGraph = options_.inGraph && traitsOf(target).isGpu()};
}

runtime::Compilation TracedSource::compile(const CompileRequest &request) const {
  BuiltKernel built = buildKernel(kernel_, request);
  return {std::move(built), built.report};
}

} // namespace ditron
