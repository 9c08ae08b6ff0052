// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs as text: of the dialect `task`, which is read again, and as a drawing.
//
//   writeFile("mlp.mlir", toText(graph));
//   writeFile("mlp.dot", toDot(graph, {.dims = {{"M", 20}, {"K", 12}}, .cores = 4}));
//   TaskGraph same = readGraph({.text = ..., .file = "mlp.mlir"});
#pragma once
#include "ditron/task/TaskGraph.h"

namespace ditron {

/// The graph and its kernels as a module of `tile`, `dist` and `task`. What constants hold is no part
/// of it.
std::string toText(const TaskGraph &graph);

/// What a schedule is drawn for.
struct DrawOptions {
  Dimensions dims = {}; ///< extents of the names in declarations of inputs; none: no schedule
  int64_t cores = 0;    ///< 0: no schedule
  int64_t ranks = 1;
};

/// The graph as Graphviz draws it: a box for each node with its kernel, an arrow for each edge with
/// the tensor; with a schedule also how many tasks and waits there are. Constants are not drawn.
/// CompileError where the extents do not fit.
std::string toDot(const TaskGraph &graph, const DrawOptions &options = {});

/// A module with graphs.
struct GraphText {
  std::string text;
  std::string file = "graph.mlir"; ///< where it stands, for messages
};

/// The names of its graphs. CompileError with the line where the text is no module, or a graph wrong.
std::vector<std::string> graphsOf(const GraphText &source);
/// The graph of this name; the only one where it is empty. Before it can be run its constants have to
/// be given memory: TaskGraph::fillConstants.
TaskGraph readGraph(const GraphText &source, const std::string &name = {});

} // namespace ditron
