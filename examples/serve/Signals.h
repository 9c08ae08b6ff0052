// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace serve {

/// SIGTERM and SIGINT do not end the process from here on, nor threads that are made later: they wait
/// for a SignalWatch.
void holdSignals();

/// From its first signal on the process ends: at once with status 0, or where somebody answers requests
/// in the way that they say. The second signal ends it at once.
class SignalWatch {
public:
  SignalWatch();
  ~SignalWatch();

  /// As long as it is there, the first signal calls a function.
  class Answering {
  public:
    Answering(SignalWatch &watch, std::function<void()> end);
    ~Answering();
    Answering(const Answering &) = delete;
    Answering &operator=(const Answering &) = delete;

  private:
    SignalWatch &watch_;
  };

private:
  void watch();
  void endInOrder();

  std::mutex lock_;
  std::function<void()> end_; ///< empty: nobody answers
  std::atomic<bool> isOver_ = false;
  std::thread thread_;
};

} // namespace serve
