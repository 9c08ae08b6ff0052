// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults and schedules of an exploration, for people.
#pragma once
#include "ditron/checker/explore/ExploreState.h"
#include "ditron/checker/report/Explain.h"

namespace ditron::checker {

/// The finding of a fault in a state, without its schedule.
Explained explainFault(const Machine &machine, const State &state, const Fault &fault);

/// By what a fault is told from others: the kind and the ops; of an uninitialized read also the event.
std::string keyOf(const Machine &machine, const Fault &fault, const State &state);

/// Writes a path, which names the thread of each notify or wait and ends behind the accesses of a
/// fault, into a finding: as its schedule, and step by step with the counters.
void addPath(Finding &finding, const Machine &machine, const std::vector<uint32_t> &path,
             const Fault &fault);

} // namespace ditron::checker
