// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Wait.h"
#include <algorithm>
#include <sched.h>
#include <thread>

namespace ditron::runtime {

bool Backoff::pause() {
  int step = step_++;
  if (step < kSpins) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
    return false;
  }
  if (step < kSpins + kYields) {
    sched_yield();
    return true;
  }
  int doublings = std::min((step - kSpins - kYields) / 8, 5);
  std::this_thread::sleep_for(std::chrono::microseconds(4) * (1 << doublings));
  return true;
}

bool crowded(int threads) {
  cpu_set_t cpus;
  int count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0
                  ? CPU_COUNT(&cpus)
                  : int(std::thread::hardware_concurrency());
  return threads > count;
}

} // namespace ditron::runtime
