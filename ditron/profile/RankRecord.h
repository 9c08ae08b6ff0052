// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one rank recorded of a launch, on its way to the timeline of all.
#pragma once
#include "ditron/profile/Timeline.h"
#include "ditron/runtime/Rank.h"
#include <string>

namespace ditron::profile {

/// A rank's lanes, with names of its own and times of CLOCK_MONOTONIC.
struct RankRecord {
  std::string kernel;
  std::vector<std::string> names;
  std::vector<Lane> lanes;
};

/// The launch in the logs of `rank`; `workspace`, which names the counters, may be null.
RankRecord recordOf(runtime::Rank &rank, const std::string &kernel,
                    const runtime::Workspace *workspace);

/// As bytes, and back. Both ends are the same program.
std::string pack(const RankRecord &record);
RankRecord unpack(const std::string &bytes);

/// The bytes of every rank, on rank 0; nothing elsewhere. Collective; through symmetric memory, a
/// window at a time.
std::vector<std::string> gatherBytes(runtime::Rank &rank, const std::string &mine);

/// The timeline of all ranks. RuntimeError where they recorded different kernels.
Timeline merge(std::vector<RankRecord> records);

} // namespace ditron::profile
