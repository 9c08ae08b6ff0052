// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/GraphFile.h"
#include "ditron/kernels/Config.h"
#include "ditron/support/Error.h"
#include "ditron/support/File.h"
#include "ditron/task/KernelText.h"
#include "ditron/text/Text.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron::tools {

std::string readText(const std::string &path) {
  try {
    return readFile(path, text::kMostBytes);
  } catch (const RuntimeError &error) {
    throw UsageError(error.what());
  }
}

bool hasGraphs(const GraphText &source) {
  bool mayHave = source.text.find("task.graph") != std::string::npos; // a comment may name it
  return mayHave && !graphsOf(source).empty();
}

bool meansGraph(const GraphText &source, const std::string &name) {
  if (!hasGraphs(source))
    return false;
  auto has = [&](const std::vector<std::string> &names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return name.empty() || has(graphsOf(source)) ||
         !has(kernelsOf(KernelText{source.text, source.file}));
}

std::vector<TaskGraph> readGraphs(const GraphText &source, const std::string &name) {
  std::vector<std::string> names = name.empty() ? graphsOf(source) : std::vector{name};
  std::vector<TaskGraph> graphs;
  for (const std::string &one : names)
    graphs.push_back(readGraph(source, one));
  return graphs;
}

TaskGraph readGraphOf(const std::string &path, const std::string &name) {
  return readGraph({readText(path), path}, name);
}

Dimensions parseGraphExtents(const std::string &text, std::span<const TaskGraph> graphs) {
  std::vector<std::string> known;
  for (const TaskGraph &graph : graphs)
    for (std::string &name : task::dimensionNames(graph.graph()))
      if (std::find(known.begin(), known.end(), name) == known.end())
        known.push_back(std::move(name));
  Dimensions result;
  for (const auto &[name, extent] : kernels::parseAssignments(text, "--shape")) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw UsageError(fmt::format("--shape gives '{}', expected {}", name,
                                   known.empty() ? "nothing: all extents of inputs are numbers"
                                                 : fmt::format("{}", fmt::join(known, ", "))));
    result[name] = kernels::parseInteger("--shape: " + name, extent, 0);
  }
  return result;
}

void requireGraphExtents(const TaskGraph &graph, const Dimensions &extents) {
  std::vector<std::string> missing = task::dimensionNames(graph.graph());
  std::erase_if(missing, [&](const std::string &name) { return extents.contains(name); });
  if (!missing.empty())
    throw UsageError(fmt::format("graph '{}' needs {}: expected --shape {}=...", graph.name(),
                                 fmt::join(missing, ", "), fmt::join(missing, "=...,")));
}

} // namespace ditron::tools
