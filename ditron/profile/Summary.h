// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the time of a launch went. At any moment a core computes, transfers or waits, or is not
// there; docs/trace.md says what is what.
//
// The critical path is the chain of work that the launch could not have ended before. It is found
// from its end: from the core that finished last, back in time on that core; where it waited, at
// the moment it went on, to the core whose notify let it; and so on to a core that never waited. So
// its waits are what signals took to arrive, and what nobody's notify explains.
#pragma once
#include "ditron/profile/Timeline.h"
#include "ditron/runtime/Stats.h"

namespace ditron::profile {

enum class State : uint8_t { computes, transfers, waits };

const char *name(State state); ///< "compute", "transfer", "wait"

/// A part of a lane in which its core does one thing at one place of the source.
struct Piece {
  int64_t begin = 0, end = 0;
  State state = State::computes;
  int32_t slice = -1; ///< the put, get, wait or barrier that it is; -1 of computation
  int32_t role = -1;  ///< in Timeline::names
  int32_t place = -1; ///< of the verb, or of the loop over tiles around the computation
};

/// The pieces of a lane, one after the other without a gap, up to Lane::knownEnd.
std::vector<Piece> piecesOf(const Lane &lane);

/// Seconds, summed over cores. The first five together are cores times the launch's seconds.
struct CoreTimes {
  double compute = 0, transfer = 0, wait = 0;
  double absent = 0;  ///< before the kernel began on a core, and after it ended there
  double unknown = 0; ///< after its log was full
  double cpu = 0;     ///< with a CPU; 0: not known

  double all() const { return compute + transfer + wait + absent + unknown; }
  /// The part of compute and transfer for which the cores had a CPU; 0 where it is not known.
  double cpuShare() const;
};

struct RankSummary {
  CoreTimes times;
  runtime::TransferTime transfers; ///< of the rank's time: see runtime/Account.h
};

/// A part of the critical path: a core, from `begin` to `end` of the timeline.
struct Step {
  int32_t lane = 0;
  Piece piece; ///< cut to the part that is on the path
};

/// All steps that do the same thing at the same place.
struct Contribution {
  State state = State::computes;
  std::string role, place;
  double seconds = 0;
  int64_t steps = 0;
};

struct CriticalPath {
  std::vector<Step> steps; ///< in the order of time
  double compute = 0, transfer = 0, wait = 0;
  double before = 0;   ///< from the launch's start to the first step: the core was not there yet
  int64_t signals = 0; ///< how often it goes from one core to another
  std::vector<Contribution> contributions; ///< the largest first
  bool isKnown = false;                    ///< false: events are missing, and all is empty
  double seconds() const { return before + compute + transfer + wait; }
};

struct Summary {
  double seconds = 0;
  std::vector<RankSummary> ranks;
  CriticalPath path;

  CoreTimes times() const;
  runtime::TransferTime transfers() const;
};

Summary summarize(const Timeline &timeline);
CriticalPath criticalPath(const Timeline &timeline);

} // namespace ditron::profile
