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

/// The threads that answer connections. httplib's own pool ends the process where the system has no room for all of them,
/// and takes any number of connections.
class Workers {
public:
  /// RuntimeError where `count` threads cannot be started.
  explicit Workers(int64_t count);
  ~Workers();
  Workers(const Workers &) = delete;
  Workers &operator=(const Workers &) = delete;

  /// Waits while as many jobs wait as there are threads.
  void enqueue(std::function<void()> job);
  /// Waits for all jobs.
  void shutdown();

private:
  void work();

  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool isEnding_ = false;
  std::vector<std::thread> threads_;
};

/// Workers as httplib takes them, which has an object of its own for each time that it listens.
class WorkersAtHand final : public httplib::TaskQueue {
public:
  explicit WorkersAtHand(Workers &workers) : workers_(workers) {}
  void enqueue(std::function<void()> job) override { workers_.enqueue(std::move(job)); }
  void shutdown() override {}

private:
  Workers &workers_;
};

} // namespace serve
