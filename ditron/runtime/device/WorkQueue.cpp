// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/device/WorkQueue.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <pthread.h>
#include <utility>

namespace ditron::runtime {

WorkQueue::WorkQueue(std::string name, Work started)
    : name_(std::move(name)), started_(std::move(started)) {}

void WorkQueue::close() {
  {
    Lock lock(mutex_);
    finish(lock, enqueued_);
    isEnding_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

void WorkQueue::startThread() {
  if (thread_.joinable())
    return;
  thread_ =
      ditron::startThread(fmt::format("the thread that launches ({})", name_), [this] { work(); });
  pthread_setname_np(thread_.native_handle(), name_.substr(0, 15).c_str());
}

void WorkQueue::push(Work work) {
  bool isIdle = false;
  {
    Lock lock(mutex_);
    requireOpen();
    startThread();
    waiting_.push_back(std::move(work));
    ++enqueued_;
    isIdle = !isDriven_;
  }
  if (isIdle)
    changed_.notify_all();
}

void WorkQueue::run(const Work &work) {
  std::exception_ptr failure;
  Lock lock(mutex_);
  requireOpen();
  waiting_.emplace_back([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  });
  uint64_t mine = ++enqueued_;
  finish(lock, mine);
  raise();
  if (failure)
    std::rethrow_exception(failure);
}

void WorkQueue::wait() {
  Lock lock(mutex_);
  finish(lock, enqueued_);
  raise();
}

void WorkQueue::waitFor(uint64_t ticket) {
  Lock lock(mutex_);
  finish(lock, ticket);
}

bool WorkQueue::isClosed() const {
  Lock lock(mutex_);
  return isEnding_;
}

void WorkQueue::requireThread() const {
  if (process_.isForked())
    throw RuntimeError(fmt::format("{}: the context is that of the process which forked this one: "
                                   "expected one that is made here",
                                   name_));
}

void WorkQueue::requireOpen() const {
  requireThread();
  if (isEnding_)
    throw RuntimeError(fmt::format("{}: the context has ended", name_));
}

uint64_t WorkQueue::ticket() const {
  Lock lock(mutex_);
  return enqueued_;
}

void WorkQueue::work() {
  started_();
  Lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return isEnding_ || (!isDriven_ && !waiting_.empty()); });
    if (isEnding_)
      return;
    drive(lock, kNever);
  }
}

void WorkQueue::drive(Lock &lock, uint64_t ticket) {
  isDriven_ = true;
  while (done_ < ticket && !waiting_.empty())
    doNext(lock);
  isDriven_ = false;
  if (!waiting_.empty())
    changed_.notify_all();
}

void WorkQueue::doNext(Lock &lock) {
  Work next = std::move(waiting_.front());
  waiting_.pop_front();
  bool isSkipped = error_ != nullptr;
  lock.unlock();
  std::exception_ptr failure;
  try {
    if (!isSkipped)
      next();
    next = nullptr; // what it holds goes before it counts as done
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  if (failure && !error_)
    error_ = failure;
  if (++done_ < awaited_)
    return;
  awaited_ = kNever;
  changed_.notify_all();
}

void WorkQueue::finish(Lock &lock, uint64_t ticket) {
  requireThread();
  while (done_ < ticket) {
    if (!isDriven_) {
      drive(lock, ticket);
    } else {
      awaited_ = std::min(awaited_, ticket);
      changed_.wait(lock);
    }
  }
}

void WorkQueue::raise() {
  if (error_)
    std::rethrow_exception(std::exchange(error_, nullptr));
}

} // namespace ditron::runtime
