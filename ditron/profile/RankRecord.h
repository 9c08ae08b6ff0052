// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one rank recorded of a launch, on its way to the timeline of all.
#pragma once
#include "ditron/profile/Timeline.h"
#include "ditron/runtime/LaunchRecord.h"
#include "ditron/runtime/Rank.h"
#include <memory>
#include <string>
#include <vector>

namespace ditron::profile {

/// A rank's lanes, with names of its own and times of CLOCK_MONOTONIC.
struct RankRecord {
  std::string kernel;
  std::vector<std::string> names;
  std::vector<Lane> lanes;
};

/// A launch as a rank has it when it is over: the logs of its cores, and what is needed to read
/// them later, whatever has become of its workspace then.
class Recorded {
public:
  explicit Recorded(const runtime::Rank &rank);

  /// Takes the logs of the launch that has just ended, and gives the cores those of the last one.
  /// `workspace` may be null.
  void take(runtime::Rank &rank, const std::string &kernel, const runtime::Workspace *workspace);
  /// The launch taken last; without lanes where there is none.
  RankRecord read(const runtime::Rank &rank) const;

private:
  std::string kernel_;
  std::vector<std::unique_ptr<runtime::EventLog>> logs_; // by core
  bool isTaken_ = false;
  const runtime::SignalCell *cells_ = nullptr; // of the launch
  size_t cellCount_ = 0;
  std::vector<std::byte> directory_; // of the workspace, which says what the counters are called
};

/// A launch that a device has kept. Of cores that had no part in it there are lanes of no length, up
/// to this number.
RankRecord readRecord(const runtime::LaunchRecord &launch, int rank, size_t cores);

/// As bytes, and back. Both ends are the same program.
std::string pack(const RankRecord &record);
RankRecord unpack(const std::string &bytes);

/// The bytes of every rank, on rank 0; nothing elsewhere. Collective; through symmetric memory, a
/// window at a time.
std::vector<std::string> gatherBytes(runtime::Rank &rank, const std::string &mine);

/// The timeline of all ranks. RuntimeError where they recorded different kernels.
Timeline merge(std::vector<RankRecord> records);

} // namespace ditron::profile
