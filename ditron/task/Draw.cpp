// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph in the language of Graphviz.
//
//   digraph "mlp" {
//     n0 [label="layer 0 up\n4 tasks"];
//     v0 [label="x[M,K]", shape=ellipse];
//     v0 -> n0;
//     n0 -> n1 [label="layer 0 up.y\n6 waits"];
//   }
//
#include "ditron/support/Error.h"
#include "ditron/task/Edges.h"
#include "ditron/task/GraphText.h"
#include "ditron/task/Plan.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace ditron {

namespace {

using NodePair = std::pair<size_t, size_t>;

/// What a schedule adds to the drawing.
struct Counts {
  std::vector<int64_t> tasks; ///< of each node
  std::map<NodePair, int64_t> waits;
};

Counts countsOf(const task::Graph &graph, const task::Plan &plan) {
  Counts counts{std::vector<int64_t>(graph.nodes.size()), {}};
  for (const std::vector<task::Task> &queue : plan.queues)
    for (const task::Task &task : queue) {
      ++counts.tasks[task.node];
      for (const task::Wait &wait : task.waits)
        ++counts.waits[{plan.awaitedNode(wait), task.node}];
    }
  return counts;
}

std::string counted(int64_t count, const char *what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// A text of Graphviz: quotes and backslashes stand for themselves, control characters for spaces.
std::string quoted(const std::vector<std::string> &lines) {
  std::string result = "\"";
  for (const std::string &line : lines) {
    result += result.size() > 1 ? "\\n" : "";
    for (char c : line) {
      bool isControl = c >= 0 && c < ' ';
      result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{isControl ? ' ' : c};
    }
  }
  return result + "\"";
}

class Drawing {
public:
  Drawing(const task::Graph &graph, std::optional<Counts> counts,
          const std::vector<task::Footprint> &footprints)
      : graph_(graph), counts_(std::move(counts)), edges_(task::edgesOf(graph, footprints)) {}

  std::string draw() {
    line("digraph {} {{", quoted({graph_.name}));
    line("  node [shape=box, fontname=\"Helvetica\"];");
    line("  edge [fontname=\"Helvetica\", fontsize=10];");
    for (size_t node = 0; node < graph_.nodes.size(); ++node)
      drawNode(node);
    drawInputs();
    drawEdges();
    drawOutputs();
    line("}}");
    return std::move(text_);
  }

private:
  template <class... A> void line(fmt::format_string<A...> format, A &&...arguments) {
    text_ += fmt::format(format, std::forward<A>(arguments)...) + "\n";
  }

  void drawNode(size_t number) {
    const task::Node &node = graph_.nodes[number];
    const std::string &kernel = graph_.kernelOf(node).name();
    std::vector<std::string> lines{node.name};
    if (!node.name.ends_with(kernel))
      lines.push_back(kernel);
    if (counts_)
      lines.push_back(counted(counts_->tasks[number], "task"));
    line("  n{} [label={}];", number, quoted(lines));
  }

  /// From an input to the nodes that touch it before any has written it.
  void drawInputs() {
    for (size_t value = 0; value < graph_.values.size(); ++value) {
      const task::Value &input = graph_.values[value];
      if (input.kind != task::ValueKind::input)
        continue;
      line("  v{} [label={}, shape=ellipse];", value,
           quoted({Argument{input.name, false, false, input.dims}.text()}));
      for (size_t node = 0; node < graph_.nodes.size(); ++node)
        if (touches(node, value)) {
          line("  v{} -> n{};", value, node);
          if (writes(node, value))
            break;
        }
    }
  }

  void drawOutputs() {
    for (size_t output : graph_.outputs) {
      line("  v{} [label={}, shape=ellipse, style=bold];", output,
           quoted({graph_.values[output].name}));
      for (size_t node = graph_.nodes.size(); node-- > 0;)
        if (writes(node, output)) {
          line("  n{} -> v{};", node, output);
          break;
        }
    }
  }

  void drawEdges() {
    std::map<NodePair, std::vector<std::string>> drawn;
    for (const task::Edge &edge : edges_) {
      std::vector<std::string> &lines = drawn[{edge.from, edge.to}];
      std::string name = graph_.values[edge.value].name;
      if (edge.why == task::Follows::writeAfterRead)
        name += " (read before)";
      if (std::find(lines.begin(), lines.end(), name) == lines.end())
        lines.push_back(std::move(name));
    }
    if (counts_)
      for (const auto &[pair, waits] : counts_->waits)
        drawn[pair].push_back(counted(waits, "wait"));
    for (const auto &[pair, lines] : drawn)
      line("  n{} -> n{} [label={}{}];", pair.first, pair.second, quoted(lines),
           counts_ && !counts_->waits.contains(pair) ? ", color=gray" : "");
  }

  bool touches(size_t node, size_t value) const {
    const std::vector<task::Operand> &operands = graph_.nodes[node].operands;
    return std::find(operands.begin(), operands.end(), task::Operand(value)) != operands.end();
  }
  bool writes(size_t number, size_t value) const {
    const task::Node &node = graph_.nodes[number];
    for (size_t n = 0; n < node.operands.size(); ++n)
      if (node.operands[n] == task::Operand(value) &&
          canWrite(graph_.kernelOf(node).parameters()[n].access))
        return true;
    return false;
  }

  const task::Graph &graph_;
  std::optional<Counts> counts_;
  std::vector<task::Edge> edges_;
  std::string text_;
};

} // namespace

std::string toDot(const TaskGraph &graph, const DrawOptions &options) {
  if (options.cores < 0 || options.ranks < 1)
    throw CompileError(fmt::format("a drawing of {} is asked for {} cores and {} ranks, expected 0 "
                                   "or more and 1 or more",
                                   graph.name(), options.cores, options.ranks));
  const task::Graph &data = graph.graph();
  std::vector<task::Footprint> footprints(data.types.begin(), data.types.end());
  std::optional<Counts> counts;
  if (options.cores > 0) {
    task::Shapes shapes = task::shapesOf(data, options.dims, options.ranks);
    counts = countsOf(data, task::schedule(data, footprints, shapes,
                                           {.cores = options.cores, .ranks = options.ranks}));
  }
  return Drawing(data, std::move(counts), footprints).draw();
}

} // namespace ditron
