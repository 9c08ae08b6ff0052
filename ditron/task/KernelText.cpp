// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/KernelText.h"
#include "ditron/support/Error.h"
#include "ditron/task/KernelFunction.h"
#include "ditron/task/ParsedModule.h"
#include <fmt/format.h>

using namespace mlir;

namespace ditron {

Kernel readKernel(const KernelText &source, const std::string &name) {
  auto read = [&](ModuleOp module) {
    try {
      return task::kernelOf(task::findKernel(module, name));
    } catch (const CompileError &error) {
      throw CompileError(fmt::format("{}: {}", source.file, error.what()));
    }
  };
  task::ParsedModule parsed(source.text, source.file, [&](ModuleOp module) { read(module); });
  return read(parsed.get());
}

std::vector<std::string> kernelsOf(const KernelText &source) {
  return task::kernelNames(task::ParsedModule(source.text, source.file).get());
}

} // namespace ditron
