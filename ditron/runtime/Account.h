// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of a rank's transfers was hidden behind computation.
//
// At any moment a core of the rank does one of four things: it transfers (put, get), it waits (a
// signal that has not come, a barrier), it computes (anything else between the start and the end of
// the kernel on this core), or it is not there (before and after). Over the rank's time
//
//   transfer   at least one core transfers
//   hidden     ... while at least one other core computes
//   exposed    ... while no core computes: all others wait, transfer too, or are not there
//
// so transfer = hidden + exposed. Time in which two cores transfer counts once, which keeps these
// times comparable with the time of the launch. It is a rank's own view: a core that waits for what
// another rank sends waits, whatever that rank does meanwhile.
//
// A core that has less than kPauseNs between two of its transfers or waits does not compute there:
// it runs the loop around them. A core without a CPU, where there are more cores than CPUs, is in
// the state in which it lost it; CoreStats::cpuShare says how much of the time that is.
#pragma once
#include "ditron/runtime/Events.h"
#include "ditron/runtime/Stats.h"
#include <span>

namespace ditron::runtime {

/// One core's part of a launch.
struct CoreSpan {
  uint64_t begin = 0, end = 0;        ///< of the kernel on this core
  std::span<const Event> events = {}; ///< within them, in order, without overlap
  uint64_t knownUntil = UINT64_MAX;   ///< when its log was full
  uint64_t dropped = 0;               ///< events that were not kept

  CoreSpan() = default;
  CoreSpan(uint64_t begin, uint64_t end, std::span<const Event> events)
      : begin(begin), end(end), events(events) {}
  explicit CoreSpan(const EventLog &log);
};

/// The longest pause between two events that is no computation.
inline constexpr uint64_t kPauseNs = 200;

/// The times of a rank whose cores are these. Where a log was full they cover only what came before
/// the first event that was not kept on any core.
TransferTime accountTransfers(std::span<const CoreSpan> cores);

} // namespace ditron::runtime
