// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/LaunchWatchdog.h"
#include "ditron/runtime/Launcher.h"
#include "ditron/support/StartThread.h"
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <thread>
#include <unistd.h>

namespace ditron::runtime {

namespace {

/// How often a launch is looked at.
std::chrono::milliseconds pauseFor(std::chrono::milliseconds bound) {
  constexpr std::chrono::milliseconds kShortest{5}, kLongest{1000};
  return std::clamp(bound / 4, kShortest, kLongest);
}

/// The launches of this process, and the thread that looks at them. It is never taken down: the
/// thread may be looking while the process ends.
class Watchdog {
public:
  static Watchdog &get() {
    static auto *all = new Watchdog;
    return *all;
  }

  void add(WatchedLaunch *launch) {
    std::lock_guard guard(lock_);
    if (started_ && started_->isForked()) { // neither the thread nor the launches are here
      started_.reset();
      launches_.clear();
    }
    if (!started_)
      startThread("the watchdog of launches", [this] { watch(); }).detach();
    started_.emplace();
    launches_.insert(launch);
    pause_ = std::min(pause_, pauseFor(launch->bound()));
  }

  void remove(WatchedLaunch *launch) {
    std::lock_guard guard(lock_);
    launches_.erase(launch);
  }

private:
  void watch() {
    for (;;) {
      std::chrono::milliseconds pause = look();
      std::this_thread::sleep_for(pause);
    }
  }

  std::chrono::milliseconds look() {
    std::lock_guard guard(lock_);
    for (WatchedLaunch *launch : launches_)
      launch->look();
    return pause_;
  }

  std::mutex lock_;
  std::set<WatchedLaunch *> launches_;
  std::chrono::milliseconds pause_{1000};
  std::optional<OwnProcess> started_; ///< where the thread is
};

} // namespace

WatchedLaunch::WatchedLaunch(Control control, int rank, std::chrono::milliseconds bound)
    : control_(control), rank_(rank), bound_(bound) {
  Watchdog::get().add(this);
}

WatchedLaunch::~WatchedLaunch() { Watchdog::get().remove(this); }

void WatchedLaunch::begin(const std::string &kernel) {
  std::lock_guard guard(lock_);
  kernel_ = &kernel;
  time_ = RunningTime(2 * pauseFor(bound_));
  allowed_ = bound_;
  isRaised_ = false;
}

void WatchedLaunch::end() {
  std::lock_guard guard(lock_);
  kernel_ = nullptr;
}

std::string WatchedLaunch::report() const {
  return fmt::format("kernel '{}' on rank {} runs for longer than {} ms, the bound of a launch "
                     "(DITRON_LAUNCH_TIMEOUT_MS)",
                     *kernel_, rank_, bound_.count());
}

void WatchedLaunch::look() {
  constexpr std::chrono::milliseconds kShortest{100}, kLongest{5000};
  std::lock_guard guard(lock_);
  if (!kernel_ || time_.passed() < allowed_)
    return;
  if (!isRaised_) {
    control_.raise(report());
    isRaised_ = true;
    allowed_ += std::clamp(bound_, kShortest, kLongest); // for those who wait to leave
    return;
  }
  std::string text = report() + " and computes on: this process ends";
  if (!reportToLauncher(text))
    fmt::print(stderr, "ditron: {}\n", text);
  std::fflush(stderr);
  _exit(1);
}

} // namespace ditron::runtime
