// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/device/WorkQueue.h"
#include "ditron/support/Error.h"
#include <atomic>
#include <future>
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

TEST(WorkQueue, IsWorkedOffByOneThread) {
  std::promise<void> begun;
  std::atomic<bool> mayGoOn = false;
  std::vector<std::thread::id> threads;
  WorkQueue queue("test");
  queue.push([&] {
    begun.set_value();
    while (!mayGoOn)
      std::this_thread::yield();
  });
  begun.get_future().wait(); // the queue's own thread has it
  for (int n = 0; n < 100; ++n)
    queue.push([&] { threads.push_back(std::this_thread::get_id()); });
  mayGoOn = true;
  queue.wait();
  ASSERT_EQ(threads.size(), 100u);
  EXPECT_NE(threads.front(), std::this_thread::get_id());
  for (std::thread::id thread : threads)
    EXPECT_EQ(thread, threads.front());
}

TEST(WorkQueue, WakesWhoeverHasWhatTheyWaitFor) {
  std::atomic<bool> mayGoOn = false;
  WorkQueue queue("test");
  for (int n = 0; n < 3; ++n)
    queue.push([] {});
  uint64_t early = queue.ticket();
  queue.push([&] {
    while (!mayGoOn)
      std::this_thread::yield();
  });
  std::thread late([&] { queue.wait(); });
  queue.waitFor(early);
  mayGoOn = true; // else the last piece never ends
  late.join();
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
