// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules that lead somewhere, with no more events than are needed.
#pragma once
#include "ditron/checker/causality/Causality.h"
#include <string_view>

namespace ditron::checker {

/// A thread runs until it stands at event `position`.
struct Segment {
  uint32_t thread, position;
  bool operator==(const Segment &) const = default;
};
using Schedule = std::vector<Segment>;

/// A short schedule after which each thread of `targets` stands exactly there, about to execute
/// that event, and no other thread has gone further than it must. Empty if there is none.
Schedule shortestTo(const Trace &trace, const std::vector<Position> &targets);

/// The first event of the execution of an op that this event is a part of.
Position startOf(const Trace &trace, Position position);

/// "1.0:14 0.1:22": core 0 of rank 1 to its 14th event, then core 1 of rank 0 to its 22nd.
std::string toText(const Schedule &schedule, int64_t cores);
/// CompileError where the text is no schedule for these ranks and cores.
Schedule parseSchedule(std::string_view text, int64_t ranks, int64_t cores);

} // namespace ditron::checker
