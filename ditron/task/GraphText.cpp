// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/GraphText.h"
#include "ditron/support/Error.h"
#include "ditron/task/GraphModule.h"
#include "ditron/task/ParsedModule.h"
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

/// The graphs of a module.
class ParsedGraphs {
public:
  /// CompileError with the first error and its place.
  explicit ParsedGraphs(const GraphText &source) : module_(source.text, source.file) {}

  std::vector<std::string> names() {
    std::vector<std::string> result;
    for (auto graph : module_.get().getOps<task::GraphOp>())
      result.push_back(graph.getSymName().str());
    return result;
  }
  task::GraphOp graph(StringRef name) { return module_.get().lookupSymbol<task::GraphOp>(name); }

private:
  task::ParsedModule module_;
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
