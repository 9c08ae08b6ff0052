// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work done in the order in which it was asked for, one piece at a time: what a device of the host
// has in place of a GPU's streams.
//
// A thread of its own does the work, started when it is first needed. Whoever waits helps: it does
// what is next itself, so a launch that is waited for at once costs no switch between threads.
#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace ditron::runtime {

class WorkQueue {
public:
  using Work = std::function<void()>;

  /// `name` names the thread in a debugger; `started` is called first on it.
  explicit WorkQueue(std::string name, Work started = [] {});
  ~WorkQueue() { close(); }
  WorkQueue(const WorkQueue &) = delete;
  WorkQueue &operator=(const WorkQueue &) = delete;

  /// Enqueues work. What it throws is thrown by the next call that waits; work that was enqueued
  /// in between is skipped. RuntimeError where the thread cannot be started.
  void push(Work work);
  /// Enqueues work and waits for it. Throws what it throws, or the error of work before it.
  void run(const Work &work);
  /// Waits for all that was enqueued before. Throws the error of what failed, once.
  void wait();
  /// Likewise, for a number that ticket() gave. Throws nothing.
  void waitFor(uint64_t ticket);
  /// Does what is left, and ends: RuntimeError where more is enqueued.
  void close();
  bool isClosed() const;
  /// How many pieces of work were enqueued so far.
  uint64_t ticket() const;

private:
  using Lock = std::unique_lock<std::mutex>;
  void requireOpen() const;
  void startThread();
  void work();
  /// Does the next piece of work, with the lock released meanwhile.
  void doNext(Lock &lock);
  /// Until so many pieces of work are done; helps.
  void finish(Lock &lock, uint64_t ticket);
  void raise();

  std::string name_;
  Work started_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  uint64_t enqueued_ = 0, done_ = 0;
  bool isBusy_ = false, isEnding_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

} // namespace ditron::runtime
