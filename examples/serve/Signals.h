// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <functional>
#include <thread>

namespace serve {

/// SIGTERM and SIGINT do not end the process from here on, nor threads that are made later: they wait
/// for a SignalWatch.
void holdSignals();

/// Calls a function at the first SIGTERM or SIGINT; the second one ends the process.
class SignalWatch {
public:
  explicit SignalWatch(std::function<void()> atFirst);
  ~SignalWatch();

private:
  void watch();

  std::function<void()> atFirst_;
  std::atomic<bool> isEnding_ = false;
  std::thread thread_;
};

} // namespace serve
