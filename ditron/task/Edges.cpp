// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/Edges.h"
#include <algorithm>
#include <fmt/format.h>

namespace ditron::task {

namespace {

/// What a node does to a value.
struct Touch {
  size_t node;
  TileBox box;
};

/// What has been done to one value.
struct ValueHistory {
  std::vector<Touch> writers; ///< the accesses of the last nodes that wrote it
  std::vector<Touch> readers; ///< since then
};

class EdgeFinder {
public:
  EdgeFinder(const Graph &graph, const std::vector<Footprint> &footprints)
      : graph_(graph), footprints_(footprints), histories_(graph.values.size()) {}

  std::vector<Edge> run() {
    for (size_t node = 0; node < graph_.nodes.size(); ++node) {
      std::vector<std::pair<size_t, TileBox>> accesses = accessesOf(graph_.nodes[node]);
      for (const auto &[value, box] : accesses)
        addEdges(node, value, box);
      for (const auto &[value, box] : accesses)
        note(node, value, box);
    }
    return std::move(edges_);
  }

private:
  std::vector<std::pair<size_t, TileBox>> accessesOf(const Node &node) const {
    std::vector<std::pair<size_t, TileBox>> result;
    for (const TileBox &box : footprints_[node.type].accesses())
      if (const auto *value = std::get_if<size_t>(&node.operands[box.argument]))
        result.emplace_back(*value, box);
    return result;
  }

  void addEdges(size_t node, size_t value, const TileBox &box) {
    const ValueHistory &history = histories_[value];
    for (const Touch &writer : history.writers)
      add({writer.node, node, value, box.reads ? Follows::readAfterWrite : Follows::writeAfterWrite,
           writer.box, box});
    if (box.writes)
      for (const Touch &reader : history.readers)
        add({reader.node, node, value, Follows::writeAfterRead, reader.box, box});
  }

  void add(Edge edge) {
    auto isSame = [&](const Edge &other) {
      return other.from == edge.from && other.value == edge.value && other.why == edge.why &&
             textsOf(other.fromBox) == textsOf(edge.fromBox) &&
             textsOf(other.toBox) == textsOf(edge.toBox);
    };
    for (auto known = edges_.rbegin(); known != edges_.rend() && known->to == edge.to; ++known)
      if (isSame(*known))
        return;
    edges_.push_back(std::move(edge));
  }

  void note(size_t node, size_t value, const TileBox &box) {
    ValueHistory &history = histories_[value];
    if (!box.writes) {
      history.readers.push_back({node, box});
      return;
    }
    if (!leavesParts(node, box))
      std::erase_if(history.writers, [&](const Touch &writer) { return writer.node != node; });
    history.writers.push_back({node, box});
    std::erase_if(history.readers, [&](const Touch &reader) { return reader.node != node; });
  }

  /// Whether the tiles of a node are at places that are known only at run time, so that they may leave
  /// what earlier nodes wrote.
  bool leavesParts(size_t node, const TileBox &box) const {
    auto isUnknown = [](const Span &span) { return !span.first || !span.size; };
    return footprints_[graph_.nodes[node].type].isDealt() &&
           std::any_of(box.dims.begin(), box.dims.end(), isUnknown);
  }

  const Graph &graph_;
  const std::vector<Footprint> &footprints_;
  std::vector<ValueHistory> histories_;
  std::vector<Edge> edges_;
};

} // namespace

std::vector<Edge> edgesOf(const Graph &graph, const std::vector<Footprint> &footprints) {
  return EdgeFinder(graph, footprints).run();
}

std::vector<std::string> textsOf(const TileBox &box) {
  std::vector<std::string> texts;
  for (const Span &span : box.dims)
    texts.push_back(span.first && span.size
                        ? fmt::format("{} : {}", span.first->text(), span.size->text())
                        : "*");
  return texts;
}

} // namespace ditron::task
