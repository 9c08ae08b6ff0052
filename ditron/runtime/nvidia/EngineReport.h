// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is told of the copy engines of a launch that failed. A launch that ends early gives them all
// that they wait for, so that nothing in memory says where they stood. The counters for which cores
// waited do: an engine that has not notified one stands in front of that step of its program.
#pragma once
#include "ditron/runtime/WaitReport.h"
#include "ditron/runtime/nvidia/RankGroup.h"
#include <vector>

namespace ditron::runtime::nvidia {

/// A counter for which a core of a rank waited, by its distance from the beginning of the workspace,
/// and what it held.
struct AwaitedCounter {
  int rank;
  int64_t offset, seen;
  bool operator==(const AwaitedCounter &) const = default;
};

/// Lines for the copy engines of `rank` that owe one of the counters.
std::vector<CoreLine> engineLines(const Workspace &workspace, int rank,
                                  const Participant &participant,
                                  const std::vector<AwaitedCounter> &counters);

} // namespace ditron::runtime::nvidia
