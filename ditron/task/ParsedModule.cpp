// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/ParsedModule.h"
#include "ditron/core/TileOps.h"
#include "ditron/device/DistOps.h"
#include "ditron/support/Error.h"
#include "ditron/task/GraphModule.h"
#include "ditron/text/Text.h"
#include "mlir/Parser/Parser.h"
#include <fmt/format.h>

using namespace mlir;

namespace ditron::task {

namespace {

std::string placeOf(mlir::Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return fmt::format("{}:{}:{}: ", place.getFilename().str(), place.getLine(), place.getColumn());
  return "";
}

/// What is wrong with the use of a module, or nothing.
std::string problemOf(const ParsedModule::Use &use, ModuleOp module) {
  try {
    if (use)
      use(module);
    return "";
  } catch (const CompileError &error) {
    return error.what();
  }
}

} // namespace

ParsedModule::ParsedModule(std::string_view text, const std::string &file, const Use &use) {
  text::requireReadable(text, file, [&](std::string_view part) {
    ParsedModule tried;
    std::string problem = tried.parse(part, file);
    return problem.empty() ? problemOf(use, tried.get()) : problem;
  });
  if (std::string problem = parse(text, file); !problem.empty())
    throw CompileError(problem);
}

ParsedModule::~ParsedModule() = default;

std::string ParsedModule::parse(std::string_view text, const std::string &file) {
  context_ = makeContext();
  std::string message;
  ScopedDiagnosticHandler handler(context_.get(), [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = placeOf(diagnostic.getLocation()) + diagnostic.str();
    return success();
  });
  module_ = parseSourceString<ModuleOp>(text, context_.get(), file);
  if (module_)
    module_->walk([](Operation *op) {
      op->removeAttr(core::kWithinAttr);
      op->removeAttr(device::kUnorderedAttr);
    });
  return module_ ? "" : message.empty() ? fmt::format("{}: cannot be parsed", file) : message;
}

} // namespace ditron::task
