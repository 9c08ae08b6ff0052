// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/GraphText.h"
#include "ditron/support/Error.h"
#include "ditron/task/GraphModule.h"
#include "ditron/text/Text.h"
#include "mlir/Parser/Parser.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace ditron {

std::string toText(const TaskGraph &graph) {
  std::unique_ptr<MLIRContext> context = task::makeContext();
  std::string text;
  llvm::raw_string_ostream stream(text);
  task::moduleOf(graph.graph(), *context)->print(stream);
  return text + "\n";
}

namespace {

std::string placeOf(mlir::Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return fmt::format("{}:{}:{}: ", place.getFilename().str(), place.getLine(), place.getColumn());
  return "";
}

/// A module that is parsed, in a context of its own.
class ParsedGraphs {
public:
  /// CompileError with the first error and its place.
  explicit ParsedGraphs(const GraphText &source) {
    text::requireReadable(source.text, source.file, [&](std::string_view text) {
      return ParsedGraphs().parse(text, source.file);
    });
    if (std::string problem = parse(source.text, source.file); !problem.empty())
      throw CompileError(problem);
  }

  std::vector<std::string> names() {
    std::vector<std::string> result;
    for (auto graph : module_->getOps<task::GraphOp>())
      result.push_back(graph.getSymName().str());
    return result;
  }
  task::GraphOp graph(StringRef name) { return module_->lookupSymbol<task::GraphOp>(name); }

private:
  ParsedGraphs() = default;

  /// The first error with its place, or nothing.
  std::string parse(std::string_view text, const std::string &file) {
    context_ = task::makeContext();
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

  std::unique_ptr<MLIRContext> context_;
  OwningOpRef<ModuleOp> module_;
};

} // namespace

std::vector<std::string> graphsOf(const GraphText &source) { return ParsedGraphs(source).names(); }

TaskGraph readGraph(const GraphText &source, const std::string &name) {
  ParsedGraphs parsed(source);
  std::vector<std::string> names = parsed.names();
  if (names.empty())
    throw CompileError(fmt::format("{}: the module has no task.graph", source.file));
  if (name.empty() && names.size() > 1)
    throw CompileError(fmt::format("{}: the module has the graphs {}, expected the name of one",
                                   source.file, fmt::join(names, ", ")));
  task::GraphOp graph = parsed.graph(name.empty() ? names.front() : name);
  if (!graph)
    throw CompileError(fmt::format("{}: the module has no graph '{}', expected one of {}",
                                   source.file, name, fmt::join(names, ", ")));
  return task::GraphReader(graph).read();
}

} // namespace ditron
