// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The check of a graph of tasks: of the one kernel that it becomes, with the schedule of each rank.
//
//   Verdict verdict = check(graph, {.cores = 4, .shape = {{"B", 2}}});
//   EXPECT_TRUE(verdict.clean()) << verdict.text();
#pragma once
#include "ditron/checker/Check.h"
#include "ditron/task/TaskGraph.h"

namespace ditron {

struct GraphCheckOptions {
  int64_t ranks = 1;
  int64_t cores = 2;     ///< of each rank
  Dimensions shape = {}; ///< extents of the names in declarations of inputs
  /// Value of an element (row-major) of an input; otherwise small numbers, and of integers the numbers
  /// of their elements, as rows and places are numbered. Constants are what their
  /// tensors hold, where there are tensors that the host may read.
  std::function<double(const std::string &input, int64_t element)> input = {};
  int64_t launches = 2; ///< back to back
  /// Runs in schedules that follow from the seed: see CheckOptions.
  std::optional<int64_t> schedules = {};
  uint64_t seed = 1;
  std::chrono::seconds time{600};
};

/// Checks a graph. CompileError where it has no task, shapes do not fit, or a task cannot be part of
/// one kernel.
Verdict check(const TaskGraph &graph, const GraphCheckOptions &options);

/// What happens in a finding's schedule, step by step.
std::vector<std::string> replay(const TaskGraph &graph, const GraphCheckOptions &options,
                                const std::string &schedule);

/// The same with one edge of one rank's schedule that waits for a task too few: the mistakes that
/// schedules can have. One that is `missed` may be an edge that nothing needs.
std::vector<Mutant> mutate(const TaskGraph &graph, const GraphCheckOptions &options);

} // namespace ditron
