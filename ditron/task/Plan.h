// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A static schedule: the queue of tasks of each core, and whom each task waits for.
//
// Nodes are cut into tasks, runs of tiles of about the same size, at most one a core, and no more than it
// takes for the largest of them to be as small as that. A core executes
// its queue in order and counts the tasks that it has completed; its count is a signal, which only
// grows. So "task 7 of core 2 is done" is "the count of core 2 is at least 8", and a task waits for
// at most one count of each other core:
//
//     core 0:  qkv 0..5    attention 0..2   out 0..9   ...        counts  c0
//     core 1:  qkv 6..11   attention 3..5   out 10..19 ...                c1
//
//     out 0..9 waits for c1 >= 2: it reads what attention 3..5 writes, and core 0 itself has done
//     attention 0..2 before.
//
// A task waits for every earlier task that has written what it reads or writes (read after write,
// write after write), and for those that have read what it writes (write after read): wherever boxes
// of their footprints overlap. A wait that follows from the others, or from what the core has waited
// for before, is left out. Instead of waiting for many tasks of a node, or for most of them, a task waits for
// the whole node: a node's tasks are counted too, where somebody waits for that count. With 132 cores
// a product that reads all of a row waits for one number then, not for 132.
//
// No schedule can deadlock. Tasks are queued in the order of their nodes, and a task waits for tasks of
// earlier nodes only: of all tasks that are not done, one of the earliest node can always run. The same
// numbers come out on every core, as all of it follows from shapes.
#pragma once
#include "ditron/task/GraphData.h"
#include "ditron/task/KernelFootprint.h"
#include <optional>

namespace ditron::task {

/// The signal in which the tasks that are completed are counted: of each core, then of each node.
inline constexpr const char *kDoneSignal = "done";

/// The core has completed `count` tasks or more; where there is a node, so many of its tasks are done.
struct Wait {
  int64_t core = 0, count = 0;
  std::optional<size_t> node = {};
  bool operator==(const Wait &) const = default;
};

struct Task {
  size_t node = 0;
  int64_t first = 0, end = 1; ///< tiles
  std::vector<Wait> waits = {};
  bool tellsNode = false; ///< counts for its node once it is done
  bool tellsCore = false; ///< counts for its core, with the tasks before it
  /// The same where nobody waits for it: what it writes signals itself.
  bool tellsQuietly = false;
};

struct Plan {
  std::vector<std::vector<Task>> queues; ///< by core

  size_t tasks() const;
  size_t waits() const;
  /// The node of the tasks that a wait is for.
  size_t awaitedNode(const Wait &wait) const;
};

/// The machine that a graph is scheduled for.
struct Machine {
  int64_t cores = 1, rank = 0, ranks = 1;
};

/// `footprints`: of the graph's types. `shapes`: of its values. `selfSignaling`: for each value whether it is
/// (task/SelfSignaling.h), so that no task waits for those that write it; empty: none is.
Plan schedule(const Graph &graph, const std::vector<Footprint> &footprints, const Shapes &shapes,
              const Machine &machine, const std::vector<bool> &selfSignaling = {});

/// How many tasks a node with so many tiles is cut into.
int64_t tasksOf(int64_t tiles, const Machine &machine);

/// The tiles of a node.
Footprint::Tiles tilesOf(const Node &node, const Footprint &footprint, const Shapes &shapes,
                         const Machine &machine);

} // namespace ditron::task
