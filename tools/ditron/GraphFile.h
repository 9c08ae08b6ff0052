// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files with graphs of tasks, FILE.mlir, for the verbs that take them.
#pragma once
#include "ditron/task/GraphText.h"
#include <span>
#include <string>
#include <vector>

namespace ditron::tools {

/// What a file holds. UsageError where it cannot be read.
std::string readText(const std::string &path);

/// Whether the text has an op task.graph. CompileError where one may stand in it, and it is no module.
bool hasGraphs(const GraphText &source);
/// Whether a name of --function means a graph of a file: there are graphs, and it is no kernel's. None does, too.
bool meansGraph(const GraphText &source, const std::string &name);

/// The graphs of a text, or the one of this name. CompileError where the text or a graph is wrong.
std::vector<TaskGraph> readGraphs(const GraphText &source, const std::string &name = {});
/// The only graph of a file, or the one of this name.
TaskGraph readGraphOf(const std::string &path, const std::string &name);

/// "M=20,K=12". UsageError for a name that stands in no declaration of an input of the graphs.
Dimensions parseGraphExtents(const std::string &text, std::span<const TaskGraph> graphs);
/// UsageError that names what --shape leaves out of the extents of a graph's inputs.
void requireGraphExtents(const TaskGraph &graph, const Dimensions &extents);

} // namespace ditron::tools
