// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches that outlive their bound. A wait ends by its own bound (Wait.h); cores that compute
// without end do not wait. One thread of the process looks at every launch on the host about once a
// second. Where one is late
//
//   1. the run gets an error that says so, which ends whoever waits, on every rank;
//   2. where the launch goes on all the same, nothing can stop its cores: the process tells the
//      error and ends with exit status 1.
#pragma once
#include "ditron/runtime/ControlBlock.h"
#include "ditron/runtime/RunningTime.h"
#include <chrono>
#include <mutex>
#include <string>

namespace ditron::runtime {

/// One rank's launch, or none.
class WatchedLaunch {
public:
  WatchedLaunch(Control control, int rank, std::chrono::milliseconds bound);
  ~WatchedLaunch();
  WatchedLaunch(const WatchedLaunch &) = delete;
  WatchedLaunch &operator=(const WatchedLaunch &) = delete;

  /// A launch runs from here to end().
  void begin(const std::string &kernel);
  void end();

  /// What the watchdog does, every once in a while.
  void look();
  std::chrono::milliseconds bound() const { return bound_; }

private:
  std::string report() const;

  Control control_;
  int rank_;
  std::chrono::milliseconds bound_;
  std::mutex lock_;
  const std::string *kernel_ = nullptr; ///< null: no launch
  RunningTime time_;                    ///< since the launch began, or had its error
  std::chrono::milliseconds allowed_{0};
  bool isRaised_ = false;
};

/// Ends the launch with its scope.
class LaunchScope {
public:
  LaunchScope(WatchedLaunch &launch, const std::string &kernel) : launch_(launch) {
    launch_.begin(kernel);
  }
  ~LaunchScope() { launch_.end(); }
  LaunchScope(const LaunchScope &) = delete;
  LaunchScope &operator=(const LaunchScope &) = delete;

private:
  WatchedLaunch &launch_;
};

} // namespace ditron::runtime
