// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/device/WorkQueue.h"
#include "ditron/support/Error.h"
#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace ditron::runtime {
namespace {

TEST(WorkQueue, DoesWorkInOrder) {
  std::vector<int> done;
  WorkQueue queue("test");
  for (int n = 0; n < 100; ++n)
    queue.push([&, n] { done.push_back(n); });
  queue.run([&] { done.push_back(100); });
  ASSERT_EQ(done.size(), 101u);
  for (int n = 0; n <= 100; ++n)
    EXPECT_EQ(done[size_t(n)], n);
}

TEST(WorkQueue, SkipsWhatIsBehindAnErrorUntilItIsThrown) {
  std::atomic<int> done = 0;
  WorkQueue queue("test");
  queue.push([] { throw RuntimeError("late"); });
  queue.push([&] { ++done; });
  EXPECT_THROW(queue.wait(), RuntimeError);
  EXPECT_EQ(done, 0);
  queue.wait();
  queue.push([&] { ++done; });
  queue.wait();
  EXPECT_EQ(done, 1);
  EXPECT_THROW(queue.run([] { throw CompileError("wrong"); }), CompileError);
  queue.wait();
}

TEST(WorkQueue, ServesManyThreads) {
  int count = 0; // touched by one piece of work at a time
  WorkQueue queue("test");
  std::vector<std::thread> threads;
  for (int n = 0; n < 8; ++n)
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k)
        if (k % 3)
          queue.push([&] { ++count; });
        else
          queue.run([&] { ++count; });
    });
  for (std::thread &thread : threads)
    thread.join();
  queue.wait();
  EXPECT_EQ(count, 1600);
}

TEST(WorkQueue, EndsWithItsWorkDone) {
  int count = 0;
  {
    WorkQueue queue("test");
    for (int n = 0; n < 10; ++n)
      queue.push([&] { ++count; });
    queue.close();
    EXPECT_EQ(count, 10);
    EXPECT_THROW(queue.push([] {}), RuntimeError);
  }
  EXPECT_EQ(count, 10);
}

} // namespace
} // namespace ditron::runtime
