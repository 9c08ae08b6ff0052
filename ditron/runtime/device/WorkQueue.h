// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work done in the order in which it was asked for, one piece at a time: what a device of the host
// has in place of a GPU's streams.
//
// A thread of its own does the work, started when it is first needed. Whoever waits while nobody does any
// does it, so a launch that is waited for at once costs no switch between threads. One thread does all there
// is, or all that it waits for, before another one takes over.
#pragma once
#include "ditron/support/StartThread.h"
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
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
  /// in between is skipped. RuntimeError where the thread cannot be started. All calls throw one in a
  /// child that the process has forked, but for close, which must not be called there.
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
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  void requireOpen() const;
  void requireThread() const;
  void startThread();
  void work();
  /// Does work until so many pieces are done or none is left.
  void drive(Lock &lock, uint64_t ticket);
  /// Does the next piece of work, with the lock released meanwhile.
  void doNext(Lock &lock);
  /// Returns when so many pieces of work are done.
  void finish(Lock &lock, uint64_t ticket);
  void raise();

  std::string name_;
  Work started_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  uint64_t enqueued_ = 0, done_ = 0;
  uint64_t awaited_ = kNever; ///< the first ticket that a thread sleeps for
  bool isDriven_ = false;     ///< a thread does the work
  bool isEnding_ = false;
  std::exception_ptr error_;
  OwnProcess process_;
  std::thread thread_;
};

} // namespace ditron::runtime
