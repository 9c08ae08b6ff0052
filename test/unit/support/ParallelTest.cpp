// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Parallel.h"
#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <stdexcept>
#include <vector>

using namespace ditron;

namespace {

TEST(Parallel, DoesEverythingOnce) {
  for (int64_t count : {0, 1, 7, 1000, 1001}) {
    std::vector<std::atomic<int>> done(static_cast<size_t>(count));
    inParallel(count, 10, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        ++done[static_cast<size_t>(n)];
    });
    for (const std::atomic<int> &one : done)
      EXPECT_EQ(one, 1) << count;
  }
}

TEST(Parallel, RunsAreWorthAThread) {
  std::mutex lock;
  int calls = 0;
  inParallel(100, 60, [&](int64_t begin, int64_t end) {
    std::lock_guard guard(lock);
    ++calls;
    EXPECT_GE(end - begin, 60);
  });
  EXPECT_EQ(calls, 1);
}

TEST(Parallel, ThrowsWhatABodyThrew) {
  auto fail = [](int64_t, int64_t end) {
    if (end == 1000)
      throw std::runtime_error("the last one");
  };
  EXPECT_THROW(inParallel(1000, 1, fail), std::runtime_error);
}

} // namespace
