// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the time of a graph of tasks went: by type of task, by task, and by what was waited for.
#pragma once
#include "ditron/profile/Summary.h"
#include "ditron/profile/Tables.h"

namespace ditron::profile {

/// Seconds, summed over cores.
struct TaskTimes {
  std::string name;
  int64_t tasks = 0; ///< runs of tiles that cores executed
  double compute = 0, transfer = 0, wait = 0;
  double longest = 0; ///< of a task, without its waits
  double behind = 0;  ///< the median of what tasks take behind their last wait; 0: none had to wait
};

/// Waits of a task for another one, or for a signal of its kernel; between two launches for the
/// slowest core.
struct TaskWaits {
  std::string task, on;
  int64_t waits = 0; ///< that did not hold at once
  double seconds = 0, longest = 0;
};

/// From notifies to the waits that they let go on, where these did not hold at once: what it takes a
/// dependency to be seen.
struct Hops {
  int64_t count = 0;
  double median = 0, longest = 0; ///< seconds
};

/// A part of the critical path: a task on a core, or a wait there.
struct TaskStep {
  int32_t rank = 0, core = 0;
  std::string task, on; ///< `on`: of a wait, what was waited for
  State state = State::computes;
  double begin = 0, seconds = 0;
};

struct CoreTasks {
  int32_t rank = 0, core = 0;
  TaskTimes times;
};

struct TaskSummary {
  std::vector<TaskTimes> types, labels; ///< of kernels and of nodes; what takes longest first
  std::vector<TaskWaits> waits;         ///< the longest together first
  Hops inside, between;                 ///< a rank, and ranks
  std::vector<CoreTasks> cores;
  std::vector<TaskStep> path; ///< in the order of time; empty where it is not known
};

/// Of a timeline with tasks.
TaskSummary summarizeTasks(const Timeline &timeline, const Summary &summary);

/// For a terminal, the `most` largest parts of each: types, waits, the critical path by task.
std::string describeTasks(const TaskSummary &summary, size_t most);

} // namespace ditron::profile
