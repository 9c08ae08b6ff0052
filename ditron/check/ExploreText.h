// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults and schedules of an exploration, for people.
#pragma once
#include "ditron/check/Check.h"
#include "ditron/check/ExploreState.h"

namespace ditron::explorer {

/// The finding of a fault in a state, without its schedule.
Finding findingOf(const Machine &machine, const State &state, const Fault &fault);

/// By what it is told from others: the kind, and the places in the source.
std::string keyOf(const Program &program, const Fault &fault, const State &state);

/// A path, which names the thread of each step, as the text of Finding::schedule.
std::string scheduleOf(const Machine &machine, llvm::ArrayRef<uint32_t> path);
/// The same step by step.
std::vector<std::string> stepsOf(const Machine &machine, llvm::ArrayRef<uint32_t> path);
/// The path of a schedule. CompileError where the program has no such schedule.
std::vector<uint32_t> pathOf(const Machine &machine, std::string_view schedule);

} // namespace ditron::explorer
