// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches as graphs: what a launch of a kernel with copy engines enqueues is a dozen calls of the
// driver, and its graph one. A launch with arguments that were launched before gets a graph, which
// later ones use. Graphs take memory, so those are few that have been used lately.
#pragma once
#include "ditron/runtime/nvidia/Graph.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

namespace ditron::runtime::nvidia {

class LaunchGraphs {
public:
  static constexpr size_t kMost = 256; ///< graphs
  /// How many launches a graph is idle before it makes room for another one.
  static constexpr uint64_t kIdle = 4 * kMost;

  using Make = std::function<std::unique_ptr<Graph>()>;
  /// The graph of the next launch of a binding, which is any address that stands for its arguments.
  /// Null: the launch is enqueued step by step, since it is the first of the binding, there is no
  /// room, or the driver refuses `make`, by a RuntimeError that is not thrown. May take long.
  const Graph *next(const void *binding, const Make &make);
  /// Forgets all bindings. Their graphs, of which some may run, go with the next call.
  void clear();

private:
  struct Entry {
    std::unique_ptr<Graph> graph;
    uint64_t used; ///< the number of the last launch
    bool isRefused = false;
  };
  bool hasRoom();

  std::unordered_map<const void *, Entry> entries_, forgotten_;
  size_t graphs_ = 0;
  uint64_t launches_ = 0;
};

} // namespace ditron::runtime::nvidia
