// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Team.h"
#include "ditron/runtime/Memory.h"
#include "ditron/runtime/Wait.h"
#include "ditron/support/Error.h"
#include "ditron/support/StartThread.h"
#include <fmt/format.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <utility>

namespace ditron::runtime {

namespace {

constexpr int kSpinsBeforeParking = 4000;

/// Waits until `word` is no longer `old`: spins where there are CPUs to spin on, then sleeps.
void waitWhile(const std::atomic<uint32_t> &word, uint32_t old, bool crowded) {
  Backoff backoff(false);
  for (int i = 0; !crowded && i < kSpinsBeforeParking; ++i) {
    if (word.load(std::memory_order_acquire) != old)
      return;
    if (backoff.pause())
      break;
  }
  word.wait(old, std::memory_order_acquire);
}

} // namespace

Team::Team(int cores, bool crowded, const std::string &name)
    : cores_(cores), active_(cores), crowded_(crowded), name_(name), scratch_(size_t(cores) + 1) {
  try {
    for (int core = 1; core < cores; ++core)
      start(core);
  } catch (const RuntimeError &) {
    ending_ = true;
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    for (std::thread &thread : threads_)
      thread.join();
    throw;
  }
}

void Team::start(int core) {
  uint32_t seen = round_.load(std::memory_order_relaxed);
  threads_.push_back(startThread(
      fmt::format("the thread of core {} of {} ({})", threads_.size() + 1, cores_, name_),
      [this, core, seen] { work(core, seen); }));
  pthread_setname_np(threads_.back().native_handle(),
                     fmt::format("{}.{}", name_, core).substr(0, 15).c_str());
}

Team::~Team() {
  ending_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread &thread : threads_)
    thread.join();
}

void Team::call(int core) {
  try {
    (*body_)(core);
  } catch (...) {
    std::lock_guard lock(failureLock_);
    if (!failure_)
      failure_ = std::current_exception();
  }
}

void Team::work(int core, uint32_t seen) {
  prctl(PR_SET_TIMERSLACK, 1000); // ns: waits sleep in short steps
  for (;; ++seen) {
    waitWhile(round_, seen, crowded_);
    if (ending_)
      return;
    if (core < active_)
      call(core);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      running_.notify_all();
  }
}

void Team::launch(const std::function<void(int)> &body, bool copyEngines) {
  body_ = &body;
  active_ = cores_ + (copyEngines ? 1 : 0);
  while (threads_.size() + 1 < size_t(active_))
    start(static_cast<int>(threads_.size()) + 1);
  running_.store(uint32_t(threads_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  call(0);
  for (uint32_t left; (left = running_.load(std::memory_order_acquire)) != 0;)
    waitWhile(running_, left, crowded_);
  if (failure_)
    std::rethrow_exception(std::exchange(failure_, nullptr));
}

std::byte *Team::scratch(int core, size_t bytes) {
  Scratch &scratch = scratch_[size_t(core)];
  if (scratch.bytes < bytes) {
    scratch.memory.reset();
    scratch.bytes = 0;
    scratch.memory = allocateHost(bytes, fmt::format("the scratch memory of core {}", core));
    scratch.bytes = bytes;
  }
  return scratch.memory.get();
}

} // namespace ditron::runtime
