// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Parallel.h"
#include "ditron/support/Error.h"
#include "ditron/support/StartThread.h"
#include <algorithm>
#include <exception>
#include <sched.h>
#include <thread>
#include <vector>

namespace ditron {

int usableCpus() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

void inParallel(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)> &body) {
  int64_t threads = std::clamp<int64_t>(count / std::max<int64_t>(grain, 1), 1, usableCpus());
  if (threads == 1) {
    body(0, count);
    return;
  }
  std::vector<std::exception_ptr> problems(static_cast<size_t>(threads));
  std::vector<std::thread> others;
  auto run = [&](int64_t n) {
    try {
      body(count * n / threads, count * (n + 1) / threads);
    } catch (...) {
      problems[static_cast<size_t>(n)] = std::current_exception();
    }
  };
  int64_t started = 1;
  try {
    for (; started < threads; ++started)
      others.push_back(startThread("a thread of the host", [&run, started] { run(started); }));
  } catch (const RuntimeError &) {
  }
  run(0);
  for (int64_t n = started; n < threads; ++n)
    run(n);
  for (std::thread &other : others)
    other.join();
  for (const std::exception_ptr &problem : problems)
    if (problem)
      std::rethrow_exception(problem);
}

} // namespace ditron
