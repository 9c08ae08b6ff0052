// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run that makes no progress is told: the report's form, and what the runtime puts into it.
#include "Scenario.h"
#include "ditron/runtime/WaitReport.h"
#include "ditron/support/Error.h"
#include <gtest/gtest.h>
#include <thread>

using namespace ditron::runtime;
using ditron::abi::SymmetricArray;
using scenario::expect;

namespace {

//===-- The form ------------------------------------------------------------------------------===//

TEST(WaitReport, DescribesAWait) {
  EXPECT_EQ(describe(CorePlace{1, 0, "multiply", "gemm.cpp:12"}),
            "rank 1, core 0, role 'multiply', gemm.cpp:12");
  EXPECT_EQ(describe(CorePlace{1, -1, "", ""}), "rank 1");
  EXPECT_EQ(describe(WaitProgress{"waits for signal 's'[1]", 2, 1,
                                  describeNotifier({0, 1, "send", "a.cpp:3"}, "added", 1)}),
            "waits for signal 's'[1]: expected 2, seen 1; last notified by rank 0, core 1, role "
            "'send', a.cpp:3, which added 1");
}

TEST(WaitReport, FoldsCoresAndRanksThatAreTheSame) {
  std::vector<CoreLine> lines;
  for (int64_t rank = 0; rank < 8; ++rank)
    for (int64_t core = 0; core < 4; ++core)
      lines.push_back({{rank, core, core ? "multiply" : "send", ""},
                       rank == 5 && core == 2 ? "computes" : "waits"});
  EXPECT_EQ(formatReport("stuck", lines), "stuck\n"
                                          "  ranks 0 to 4, core 0, role 'send': waits\n"
                                          "  ranks 0 to 4, cores 1 to 3, role 'multiply': waits\n"
                                          "  rank 5, core 0, role 'send': waits\n"
                                          "  rank 5, core 1, role 'multiply': waits\n"
                                          "  rank 5, core 2, role 'multiply': computes\n"
                                          "  rank 5, core 3, role 'multiply': waits\n"
                                          "  ranks 6 to 7, core 0, role 'send': waits\n"
                                          "  ranks 6 to 7, cores 1 to 3, role 'multiply': waits");
}

TEST(WaitReport, NamesRanksInRanges) {
  EXPECT_EQ(describeRanks({3}), "rank 3");
  EXPECT_EQ(describeRanks({1, 2}), "ranks 1, 2");
  EXPECT_EQ(describeRanks({0, 2, 3, 4, 7, 8}), "ranks 0, 2 to 4, 7, 8");
}

TEST(WaitReport, EndsSomewhere) {
  std::vector<CoreLine> lines;
  for (int64_t core = 0; core < 1000; ++core)
    lines.push_back({{0, core, "", ""}, std::to_string(core)});
  lines.push_back({{1, -1, "", ""}, "late"});
  std::string text = formatReport("stuck", lines);
  EXPECT_EQ(text.find("stuck\n  rank 1: late\n  rank 0, core 0: 0\n"), 0u) << text;
  EXPECT_NE(text.find("\n  rank 0, core 98: 98\n  and 901 more lines"), std::string::npos) << text;
}

TEST(RunningTime, CountsAGapInWhichTheProcessWasStoppedAsAMoment) {
  using std::chrono::milliseconds, std::chrono::hours;
  RunningTime::Clock::time_point now{};
  RunningTime time(milliseconds(200), now);
  EXPECT_EQ(time.passed(now += milliseconds(30)), milliseconds(30));
  EXPECT_EQ(time.passed(now += hours(2)), milliseconds(230));
  EXPECT_EQ(time.passed(now), milliseconds(230));
  EXPECT_EQ(time.passed(now += milliseconds(10)), milliseconds(240));
}

TEST(Records, AStampKeepsWhatItIsGiven) {
  Stamp stamp = Stamp::unpack(Stamp{1023, 1022, 511, 4097, 77}.pack());
  EXPECT_EQ(stamp.rank, 1023u);
  EXPECT_EQ(stamp.core, 1022u);
  EXPECT_EQ(stamp.place, 511u);
  EXPECT_EQ(stamp.value, 77u);
  EXPECT_TRUE(stamp.isOf(4097));
  EXPECT_FALSE(stamp.isOf(4093)) << "the launch that used the page before";
  EXPECT_EQ(Stamp::unpack(Stamp{0, 0, 1, 1, uint64_t(1) << 40}.pack()).value, Stamp::kLargestValue);
  EXPECT_FALSE(Stamp::unpack(0).isOf(2048));
}

TEST(Watch, KnowsAPlaceByItsTextsAndCountsThemWithinBounds) {
  std::vector<std::byte> region(Control::controlBytes(1, 1) + 64);
  auto start = reinterpret_cast<uintptr_t>(region.data());
  Control control(region.data() + (64 - start % 64) % 64);
  control.initialise(1, 1, 0);
  Watch watch(control, 0);
  EXPECT_EQ(watch.place("a", "x.cpp:1"), 1u);
  EXPECT_EQ(watch.place("b", "x.cpp:1"), 2u);
  EXPECT_EQ(watch.place("a", "x.cpp:1"), 1u);
  for (int i = 0; i < 1000; ++i)
    watch.place("", std::to_string(i));
  EXPECT_EQ(watch.place("", "new"), 0u);
  EXPECT_EQ(watch.place("b", "x.cpp:1"), 2u);
  EXPECT_EQ(control.rankRecord(0).places.load(), RankRecord::kMostPlaces);
  std::string longRole(100, 'r');
  EXPECT_EQ(Watch(control, 0).place(longRole, ""), 0u) << "the table is still full";
}

//===-- What is in it -------------------------------------------------------------------------===//

std::string errorOf(const std::function<void()> &call) {
  try {
    call();
  } catch (const ditron::RuntimeError &error) {
    return error.what();
  }
  return "";
}

enum Case : int64_t { good, setTooLow, setMuch, silent, ownBarrier, spreadBarrier, nothing };

/// arguments: signals of [2, 3], data, which case. Core 0 of rank 0 sends, the last core of each
/// rank receives.
void caseKernel(CoreContext *context, const int64_t *arguments) {
  auto *go = reinterpret_cast<SignalCell *>(arguments[0]) + 4;
  int64_t which = arguments[2];
  bool sends = context->core == 0 && context->rank == 0;
  if (which == ownBarrier && context->core > 0)
    ditron_barrier(context, 0, 0, context->cores, "Cases.cpp:30");
  if (which == spreadBarrier && !sends)
    ditron_barrier(context, 1, 0, context->cores, "Cases.cpp:32");
  if (which > silent)
    return;
  if (sends && which != silent)
    for (int64_t peer = 0; peer < context->ranks; ++peer)
      ditron_notify(context, peer, go,
                    which == good      ? 8
                    : which == setMuch ? 1 << 30
                                       : 5,
                    1, "Cases.cpp:20");
  if (context->core < context->cores - 1)
    return;
  ditron_role_enter(context, "outer", 0, context->cores);
  ditron_role_enter(context, "receive", context->core, 1);
  ditron_wait(context, go, which == setMuch ? int64_t(1) << 31 : 7, 1, "Cases.cpp:24");
  ditron_role_leave(context);
  ditron_role_leave(context);
}

void launchCase(Rank &rank, Case which, const char *name = "cases") {
  auto &workspace = rank.workspace(
      "cases", {SymmetricArray::buffer("data", 100), SymmetricArray::signals("go", {2, 3})});
  KernelCode code{name, caseKernel, 0, {1, 0}};
  int64_t arguments[] = {0, 0, int64_t(which)};
  launch(rank, code, arguments, &workspace);
}

void expectReport(Rank &rank, Case which, const std::string &expected) {
  for (int i = 0; i < 9; ++i) // every page has been notified before
    launchCase(rank, good);
  std::string error = errorOf([&] { launchCase(rank, which); });
  expect(error == "kernel 'cases': a wait outlived its bound of 400 ms" + expected, error);
  launchCase(rank, good);
}

SCENARIO(reportsASetSignal) {
  expectReport(rank, setTooLow,
               "\n  ranks 0 to 2, core 0: has finished"
               "\n  ranks 0 to 2, core 1, role 'outer/receive', Cases.cpp:24: waits for signal "
               "'go'[1, 1]: expected 7, seen 5; last notified by rank 0, core 0, Cases.cpp:20, "
               "which set it to 5");
}

SCENARIO(reportsALargeNumber) {
  expectReport(rank, setMuch,
               "\n  ranks 0 to 2, core 0: has finished"
               "\n  ranks 0 to 2, core 1, role 'outer/receive', Cases.cpp:24: waits for signal "
               "'go'[1, 1]: expected 2147483648, seen 1073741824; last notified by rank 0, core 0, "
               "Cases.cpp:20, which set it to 16777215 or more");
}

SCENARIO(reportsSilence) {
  expectReport(rank, silent,
               "\n  ranks 0 to 2, core 0: has finished"
               "\n  ranks 0 to 2, core 1, role 'outer/receive', Cases.cpp:24: waits for signal "
               "'go'[1, 1]: expected 7, seen 0; nobody has notified it in this launch");
}

SCENARIO(reportsABarrierOfARank) {
  expectReport(rank, ownBarrier,
               "\n  ranks 0 to 2, core 0: has finished"
               "\n  ranks 0 to 2, core 1, Cases.cpp:30: waits at a barrier of 2 cores: expected 2, "
               "seen 1");
}

SCENARIO(reportsABarrierOfAllRanks) {
  expectReport(rank, spreadBarrier,
               "\n  rank 0, core 0: has finished"
               "\n  rank 0, core 1, Cases.cpp:32: waits at a barrier of 6 cores, 2 of every rank: "
               "expected 6, seen 5"
               "\n  ranks 1 to 2, cores 0 to 1, Cases.cpp:32: waits at a barrier of 6 cores, 2 of "
               "every rank: expected 6, seen 5");
}

/// Rank 1 stays behind: the others may be one launch ahead, not two.
SCENARIO(reportsALaunchThatCannotBegin) {
  launchCase(rank, nothing);
  if (rank.rank() == 1)
    std::this_thread::sleep_for(rank.options().waitTimeout * 2);
  std::string error = errorOf([&] {
    for (int i = 0; i < 3; ++i)
      launchCase(rank, nothing);
  });
  const char *line = ": waits to begin launch 4 until all ranks have completed 2: expected 3, seen "
                     "2; rank 1 is missing";
  expect(error == std::string("kernel 'cases': a wait outlived its bound of 400 ms\n  rank 0") +
                      line + "\n  rank 1: runs no kernel\n  rank 2" + line,
         error);
  launchCase(rank, good);
}

/// Rank 1 runs another kernel than the others.
SCENARIO(reportsDifferentKernels) {
  std::string error = errorOf([&] {
    launchCase(rank, rank.rank() == 1 ? ownBarrier : silent, rank.rank() == 1 ? "other" : "cases");
  });
  expect(error.find("a wait outlived its bound of 400 ms\n") == 0, error);
  for (const char *part : {"rank 0, core 0: has finished (kernel 'cases')",
                           "rank 1, core 1, Cases.cpp:30: waits at a barrier of 2 cores: expected "
                           "2, seen 1 (kernel 'other')"})
    expect(error.find(part) != std::string::npos, error);
}

/// A straggler is slow, not stuck, as long as it is not slower than the bound.
SCENARIO(straggling) {
  for (int i = 0; i < 3; ++i)
    launchCase(rank, good);
}

class WatchdogOf : public testing::TestWithParam<TransportKind> {
protected:
  void passes(const char *which, int waitMs = 400) {
    auto outcome = scenario::run(GetParam(), which, {.ranks = 3, .cores = 2, .waitMs = waitMs});
    EXPECT_EQ(outcome.error, "");
  }
};

TEST_P(WatchdogOf, ReportsASetSignal) { passes("reportsASetSignal"); }
TEST_P(WatchdogOf, ReportsALargeNumber) { passes("reportsALargeNumber"); }
TEST_P(WatchdogOf, ReportsSilence) { passes("reportsSilence"); }
TEST_P(WatchdogOf, ReportsABarrierOfARank) { passes("reportsABarrierOfARank"); }
TEST_P(WatchdogOf, ReportsABarrierOfAllRanks) { passes("reportsABarrierOfAllRanks"); }
TEST_P(WatchdogOf, ReportsALaunchThatCannotBegin) { passes("reportsALaunchThatCannotBegin"); }
TEST_P(WatchdogOf, ReportsDifferentKernels) { passes("reportsDifferentKernels"); }

TEST_P(WatchdogOf, AStragglerIsNoHang) {
  scenario::Setup setup{.ranks = 3, .cores = 2, .waitMs = 2000};
  setup.environment = {"DITRON_STRAGGLER=rank=1,ms=100"};
  auto outcome = scenario::run(GetParam(), "straggling", setup);
  EXPECT_EQ(outcome.error, "");
  EXPECT_GT(outcome.seconds, 0.3);
  setup.waitMs = 40;
  outcome = scenario::run(GetParam(), "straggling", setup);
  EXPECT_NE(outcome.error.find("a wait outlived its bound of 40 ms"), std::string::npos)
      << outcome.error;
}

INSTANTIATE_TEST_SUITE_P(Transports, WatchdogOf,
                         testing::Values(TransportKind::threads, TransportKind::processes),
                         [](auto &info) { return std::string(name(info.param)); });

} // namespace
