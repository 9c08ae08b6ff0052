// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The log of a GPU, for launches that are recorded: abi/DeviceLog.h says what lies in it. Launches come
// one behind the other, in one stream; which of them a part of a lane is of follows from their order.
#pragma once
#include "ditron/runtime/LaunchRecord.h"
#include "ditron/runtime/nvidia/RankGroup.h"
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace ditron::runtime::nvidia {

class LaunchLog {
public:
  /// With room for this number of events of a CTA, or as many as fit kMostBytes.
  LaunchLog(std::shared_ptr<Gpu> device, size_t events)
      : device_(std::move(device)), wanted_(events) {}

  /// Has launches of up to `cores` CTAs with this status note what they do. `owner`: of the status.
  void attach(const std::shared_ptr<const void> &owner, uint64_t status, int cores);
  /// A launch is enqueued. `workspace`: null where it has none.
  void launched(const Participant &launch, const std::shared_ptr<Workspace> &workspace);
  /// The last launches, all of which are done, the oldest first; fewer where there were fewer.
  /// RuntimeError where the log had not room for them.
  std::vector<LaunchRecord> last(size_t count) const;

  static constexpr size_t kMostBytes = size_t(1) << 28;
  static constexpr size_t kMostLaunches = size_t(1) << 14;

private:
  struct Launch {
    Participant what;
    std::shared_ptr<Workspace> workspace;
  };
  struct Status {
    std::weak_ptr<const void> owner;
    uint64_t address;
  };
  class Lane;
  void grow(int cores);
  void tell(const Status &status) const;
  Lane read(size_t core) const;

  std::shared_ptr<Gpu> device_;
  size_t wanted_;
  mutable std::mutex lock_; ///< of what follows
  std::optional<Memory> memory_;
  size_t lanes_ = 0, capacity_ = 0;
  std::vector<Status> statuses_;
  std::deque<Launch> launches_;
};

} // namespace ditron::runtime::nvidia
