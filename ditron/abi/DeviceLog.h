// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where code for a GPU notes what its CTAs do, if it was compiled to be recorded. The log lies in the
// memory of the device; a word of the launch's status (LaunchWords.h) is its address. One thread of a
// CTA writes the events of the CTA's lane, of any launch, one behind the other. A lane is a ring: what
// comes when it is full takes the place of the oldest event.
//
//   head    kHeadWords    mask, offset of the events
//   lanes   kLaneWords    of each CTA: how many events it has noted, ever
//   events  kEventWords   of each CTA, mask + 1 of them: as runtime/Events.h has them, but that the place
//                         is the number of a site (KernelInfo), and that all times are those of the device
#pragma once
#include <cstdint>

namespace ditron::abi {

struct DeviceLog {
  static constexpr int64_t kMask = 0;   ///< events of a lane, a power of two, less one
  static constexpr int64_t kEvents = 1; ///< bytes from the log to the events
  static constexpr int64_t kHeadWords = 8, kLaneWords = 8, kEventWords = 8;
  static constexpr int64_t kWord = 8; ///< bytes
  /// Bytes from the log to the lanes.
  static constexpr int64_t kLanes = kHeadWords * kWord;

  /// Those of runtime::EventKind, and where a launch begins and ends.
  enum Kind : int64_t {
    put,
    get,
    wait,
    barrier,
    notify,
    roleEnter,
    roleLeave,
    tile,
    tilesEnd,
    begin,
    end
  };
  /// The third word of an event.
  static constexpr int64_t kWaited = 1 << 8; ///< a wait that did not hold at once
  static constexpr int64_t describe(Kind kind, int64_t dims) { return kind | dims << 16; }
};

} // namespace ditron::abi
