// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A clock for bounds of waits. A whole run may be stopped, by Ctrl-Z say, and go on hours later: no
// rank is late then. So a gap between two looks at the clock counts only up to a limit, which is many
// times as long as gaps are where the process runs. Every look counts, and a wait ends on a crowded
// machine too.
#pragma once
#include <algorithm>
#include <chrono>

namespace ditron::runtime {

class RunningTime {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kLongestGap{200};

  explicit RunningTime(Clock::duration longestGap = kLongestGap,
                       Clock::time_point now = Clock::now())
      : longestGap_(longestGap), last_(now) {}

  /// How long this process has run since the beginning.
  Clock::duration passed(Clock::time_point now = Clock::now()) {
    passed_ += std::min(now - last_, longestGap_);
    last_ = now;
    return passed_;
  }

private:
  Clock::duration longestGap_, passed_{0};
  Clock::time_point last_;
};

} // namespace ditron::runtime
