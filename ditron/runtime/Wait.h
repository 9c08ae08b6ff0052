// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one waiting loop. It spins a little where every core thread has a CPU of its own, then yields
// the CPU, then sleeps in short steps, so that ranks that share few CPUs leave them to those with
// work.
#pragma once
#include "ditron/runtime/RunningTime.h"
#include <chrono>

namespace ditron::runtime {

class Backoff {
public:
  /// `crowded`: there are more core threads than CPUs.
  explicit Backoff(bool crowded) : step_(crowded ? kSpins : 0) {}

  /// Waits a moment. Returns whether it went beyond spinning, so that the clock is worth reading.
  bool pause();

private:
  static constexpr int kSpins = 2000, kYields = 100;
  int step_;
};

enum class WaitResult { ready, stopped, timedOut };

/// Waits until `ready()` holds (ready), `stopped()` does (stopped) or the process has run for
/// the bound (timedOut). `ready` must acquire what it waits for.
template <class Ready, class Stopped>
WaitResult waitUntil(Ready &&ready, Stopped &&stopped, std::chrono::milliseconds bound,
                     bool crowded) {
  if (ready())
    return WaitResult::ready;
  RunningTime time;
  for (Backoff backoff(crowded);;) {
    bool slow = backoff.pause();
    if (ready())
      return WaitResult::ready;
    if (stopped())
      return WaitResult::stopped;
    if (slow && time.passed() > bound)
      return WaitResult::timedOut;
  }
}

/// Whether `threads` busy threads are more than this process has CPUs for.
bool crowded(int threads);

} // namespace ditron::runtime
