// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/StartThread.h"
#include "ditron/support/Error.h"
#include <atomic>
#include <fmt/format.h>
#include <mutex>
#include <pthread.h>
#include <sys/resource.h>
#include <system_error>

namespace ditron {

static constexpr size_t kLeastStack = size_t(1) << 20, kLargeStack = size_t(8) << 20;

/// The limit on the stack is the size of the stacks of threads too, unless something else is said.
static void raiseThreadStacks() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  if (pthread_getattr_default_np(&attributes) != 0)
    return;
  if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < kLeastStack &&
      pthread_attr_setstacksize(&attributes, kLargeStack) == 0)
    pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

/// How many forks there are between the first process and this one.
static std::atomic<uint64_t> &forks() {
  static std::atomic<uint64_t> count{0};
  return count;
}

OwnProcess::OwnProcess() {
  static std::once_flag once;
  std::call_once(once, [] {
    forks(); // made before a child, which may make nothing
    pthread_atfork(nullptr, nullptr, [] { forks().fetch_add(1, std::memory_order_relaxed); });
  });
  forks_ = forks().load(std::memory_order_relaxed);
}

bool OwnProcess::isForked() const { return forks().load(std::memory_order_relaxed) != forks_; }

std::thread startThread(std::string_view what, std::function<void()> body) {
  static std::once_flag once;
  std::call_once(once, raiseThreadStacks);
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error &) {
    throw RuntimeError(
        fmt::format("{} cannot be started: limits on threads (ulimit -u, pids.max) or "
                    "memory (ulimit -v) leave no room for it; fewer ranks or cores "
                    "need fewer threads",
                    what));
  }
}

void callOnLargeStack(const std::function<void()> &body) {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeastStack)
    return body();
  std::thread thread;
  try {
    thread = startThread("a thread with a larger stack", body);
  } catch (const RuntimeError &) { // it may be enough
    return body();
  }
  thread.join();
}

} // namespace ditron
