// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the cores of a rank did in a launch, whatever kept the log of it.
#pragma once
#include "ditron/runtime/Events.h"
#include <cstdint>
#include <string>
#include <vector>

namespace ditron::runtime {

/// An event with what its addresses stand for. Times are nanoseconds of one clock; `place` of the event
/// means nothing. Values are those of profile/Timeline.h: of a wait or notify the number of the counter
/// in front, of a transfer its bytes.
struct NamedEvent {
  Event event;
  int32_t name = -1, place = -1; ///< in LaunchRecord::names: a role or counter, a line; -1: none
  int32_t peer = -1;             ///< of a transfer or notify; -1: not known
};

struct LaunchRecord {
  struct Core {
    uint64_t begin = 0, end = 0;
    uint64_t dropped = 0, firstDropped = 0; ///< events that are not here, and when that began
    uint64_t cpu = 0;                       ///< nanoseconds; 0: not known
    std::vector<NamedEvent> events;         ///< in the order of their ends
  };
  std::string kernel;
  std::vector<std::string> names;
  std::vector<Core> cores;
};

} // namespace ditron::runtime
