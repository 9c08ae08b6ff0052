// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/TracedSource.h"
#include "ditron/driver/Arguments.h"
#include "ditron/driver/Compile.h"
#include "ditron/lang/Trace.h"
#include "llvm/Support/raw_ostream.h"

namespace ditron {

std::string TracedSource::ir() const {
  std::lock_guard own(kernel_.traced().compiling);
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel_.traced().module.get()->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  return text;
}

void TracedSource::check(const std::vector<KernelArgument> &arguments, const runtime::Device &device,
                   int64_t ranks) const {
  checkArguments(kernel_, arguments, device, ranks);
}

std::vector<int64_t> TracedSource::words(const std::vector<KernelArgument> &arguments) const {
  return toWords(kernel_, arguments);
}

CompileRequest TracedSource::request(const runtime::Device &device) const {
  return {.target = targetFor(device.target()), .schedule = schedule_,
          .recorded = options_.recorded};
}

runtime::Compilation TracedSource::compile(const CompileRequest &request) const {
  BuiltKernel built = buildKernel(kernel_, request);
  return {std::move(built), built.report};
}

} // namespace ditron
