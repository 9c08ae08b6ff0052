// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ditron tune asks of every backend.
#pragma once
#include "ditron/tune/Search.h"
#include "tools/ditron/launch/Execute.h"
#include <functional>

namespace ditron::tools {

/// How configurations of a task are timed; none wins unverified.
struct Tuning {
  tune::Measure measure;
  tune::Guide guide; ///< prunes by resources before compiling, and compiles on all CPUs
};
/// On a device with streams of its own, by their events. Holds on to the task.
Tuning trialsOnDevice(const Task &task, const Placement &placement, uint64_t seed);

using Searching = std::function<tune::Outcome(const Tuning &)>;
/// What `search` finds for a kernel of several ranks on GPUs, timed as ditron bench does. It is called
/// on the first rank.
tune::Outcome searchOnRanks(const Task &task, const Placement &placement, uint64_t seed,
                            const Searching &search);

/// RuntimeError that names the configuration where a result is wrong.
void requireVerified(const Task &task, const Findings &findings);
/// How many launches that take `one` second each fill so many seconds; at least 3.
int launchesIn(double seconds, double one);

} // namespace ditron::tools
