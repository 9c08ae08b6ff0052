// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a rank recorded of a graph of tasks, task by task. Nothing in the code of a kernel says which
// task it is in; the schedule does:
//
//   megakernel  A core raises its counter `done` when a task is done. So the slices of its lane up
//               to the n-th notify of that counter are those of the n-th task of its queue, and a
//               wait for a counter `done` is for the task that the schedule says.
//   stream, graph  A launch is a task. Its cores meet before the next one.
#pragma once
#include "ditron/profile/RankRecord.h"
#include "ditron/task/Plan.h"
#include <deque>

namespace ditron::profile {

/// Of the nodes.
std::vector<TaskName> namesOf(const task::Graph &graph);

/// Puts a role around the slices of each task of a megakernel, and says what its waits are for.
void nameTasks(RankRecord &record, const task::Graph &graph, const task::Plan &plan);

/// Moves all times of a record back.
void moveBack(RankRecord &record, int64_t nanoseconds);

/// The last launches of a stream or of a recorded graph, a task each.
class TaskLaunches {
public:
  /// Adds the record of a launch and drops what is more than `most`.
  void add(RankRecord record, size_t most);
  /// The last step of a graph as one record: launches behind one another on each core, and between two
  /// of them a barrier of the rank's cores. Without lanes where there were fewer launches.
  RankRecord join(const task::Graph &graph) const;

private:
  std::deque<RankRecord> records_;
};

} // namespace ditron::profile
