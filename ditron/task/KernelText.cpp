// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/KernelText.h"
#include "ditron/core/TileOps.h"
#include "ditron/support/Error.h"
#include "ditron/task/KernelFunction.h"
#include "ditron/task/ParsedModule.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace ditron {

namespace {

std::vector<std::string> namesIn(ModuleOp module) {
  std::vector<std::string> names;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(core::kKernelAttr))
      names.push_back(function.getName().str());
  return names;
}

/// The function of a kernel, by name or as the only one.
func::FuncOp find(ModuleOp module, const std::string &name) {
  std::vector<std::string> names = namesIn(module);
  if (names.empty())
    throw CompileError("the module has no function marked tile.kernel");
  if (name.empty() && names.size() > 1)
    throw CompileError(fmt::format("the module has the kernels {}, expected the name of one",
                                   fmt::join(names, ", ")));
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
    throw CompileError(fmt::format("the module has no kernel '{}', expected one of {}", name,
                                   fmt::join(names, ", ")));
  auto function = module.lookupSymbol<func::FuncOp>(name.empty() ? names.front() : name);
  if (function.isExternal())
    throw CompileError(fmt::format("kernel '{}' has no body", function.getName().str()));
  return function;
}

} // namespace

std::vector<std::string> kernelsOf(const KernelText &source) {
  return namesIn(task::ParsedModule(source.text, source.file).get());
}

Kernel readKernel(const KernelText &source, const std::string &name) {
  auto read = [&](ModuleOp module) {
    try {
      return task::kernelOf(find(module, name));
    } catch (const CompileError &error) {
      throw CompileError(fmt::format("{}: {}", source.file, error.what()));
    }
  };
  task::ParsedModule parsed(source.text, source.file, [&](ModuleOp module) { read(module); });
  return read(parsed.get());
}

} // namespace ditron
