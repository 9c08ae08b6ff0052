// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches that outlive their bound.
#include "ditron/runtime/Launch.h"
#include "ditron/runtime/Rank.h"
#include "ditron/support/Error.h"
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

using namespace ditron::runtime;
using std::chrono::milliseconds;

namespace {

std::atomic<int> sleepMs{0};
std::atomic<uint64_t> rounds{0};

void sleep(CoreContext *, const int64_t *) {
  std::this_thread::sleep_for(milliseconds(sleepMs.load()));
}

void computeWithoutEnd(CoreContext *, const int64_t *) {
  for (;;)
    rounds.fetch_add(1, std::memory_order_relaxed);
}

void launchOnce(Rank &rank, const KernelCode &code) {
  std::vector<int64_t> none;
  launch(rank, code, none);
}

std::string errorOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const ditron::RuntimeError &error) {
    return error.what();
  }
  return "no error";
}

TEST(LaunchWatchdog, ALateLaunchIsAnErrorAndTheNextOneIsNot) {
  runRanks({.ranks = 1, .cores = 2, .launchTimeout = milliseconds(1000)}, [](Rank &rank) {
    KernelCode code{.name = "slow", .entry = sleep};
    sleepMs = 1600;
    EXPECT_NE(errorOf([&] { launchOnce(rank, code); })
                  .find("kernel 'slow' on rank 0 runs for longer than 1000 ms, the bound of a "
                        "launch (DITRON_LAUNCH_TIMEOUT_MS)"),
              std::string::npos);
    sleepMs = 0;
    EXPECT_EQ(errorOf([&] { launchOnce(rank, code); }), "no error");
  });
}

TEST(LaunchWatchdogDeathTest, ALaunchWithoutEndEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto run = [] {
    runRanks({.ranks = 2, .cores = 2, .launchTimeout = milliseconds(200)},
             [](Rank &rank) { launchOnce(rank, {.name = "endless", .entry = computeWithoutEnd}); });
  };
  EXPECT_EXIT(
      run(), testing::ExitedWithCode(1),
      "kernel 'endless' on rank . runs for longer than 200 ms.*and computes on: this process "
      "ends");
}

} // namespace
