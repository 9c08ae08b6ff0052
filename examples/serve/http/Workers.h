// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <httplib.h>
#include <mutex>
#include <thread>
#include <vector>

namespace serve {

/// The threads that answer connections. httplib's own pool ends the process where the system has no room for all of them.
class Workers final : public httplib::TaskQueue {
public:
  /// RuntimeError where `count` threads cannot be started.
  explicit Workers(int64_t count);
  ~Workers() override;
  Workers(const Workers &) = delete;
  Workers &operator=(const Workers &) = delete;

  void enqueue(std::function<void()> job) override;
  /// Waits for all jobs.
  void shutdown() override;

private:
  void work();

  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool isEnding_ = false;
  std::vector<std::thread> threads_;
};

} // namespace serve
