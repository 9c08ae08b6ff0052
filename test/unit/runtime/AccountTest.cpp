// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of the transfers was hidden: on events made by hand, and of kernels whose cores compute
// or wait while another one transfers.
#include "ditron/runtime/Account.h"
#include "Scenario.h"
#include <gtest/gtest.h>

using namespace ditron::runtime;
using ditron::abi::SymmetricArray;
using scenario::expect;

namespace {

constexpr uint64_t us = 1000;

Event event(EventKind kind, uint64_t begin, uint64_t end) {
  return {begin * us, end * us, kind, kind == EventKind::wait || kind == EventKind::barrier};
}
Event put(uint64_t begin, uint64_t end) { return event(EventKind::put, begin, end); }
Event get(uint64_t begin, uint64_t end) { return event(EventKind::get, begin, end); }
Event wait(uint64_t begin, uint64_t end) { return event(EventKind::wait, begin, end); }

/// Microseconds of transfer, and of them hidden.
struct Times {
  uint64_t transfer, hidden;
  bool operator==(const Times &) const = default;
  friend std::ostream &operator<<(std::ostream &out, const Times &times) {
    return out << "{" << times.transfer << ", " << times.hidden << "}";
  }
};

struct Core {
  uint64_t begin, end;
  std::vector<Event> events;
};

Times account(const std::vector<Core> &cores) {
  std::vector<CoreSpan> spans;
  for (const Core &core : cores)
    spans.emplace_back(core.begin * us, core.end * us, core.events);
  TransferTime time = accountTransfers(spans);
  EXPECT_EQ(time.transferNs, time.hiddenNs + time.exposedNs());
  return {time.transferNs / us, time.hiddenNs / us};
}

TEST(Account, NothingMoves) {
  EXPECT_EQ(account({}), (Times{0, 0}));
  EXPECT_EQ(account({{0, 100, {}}, {10, 50, {wait(10, 50)}}}), (Times{0, 0}));
}

TEST(Account, OneCoreHidesNothing) {
  EXPECT_EQ(account({{0, 100, {put(10, 30), get(50, 55)}}}), (Times{25, 0}));
}

TEST(Account, AnotherCoreComputes) {
  EXPECT_EQ(account({{0, 100, {put(10, 30), put(50, 90)}}, {0, 100, {}}}), (Times{60, 60}));
}

TEST(Account, AnotherCoreWaits) {
  // From 20 to 40 it waits for what is sent; then it computes beside the second put.
  EXPECT_EQ(account({{0, 100, {put(10, 40), put(40, 70)}}, {0, 100, {wait(5, 40)}}}),
            (Times{60, 30}));
  EXPECT_EQ(account({{0, 100, {put(10, 40)}}, {0, 100, {event(EventKind::barrier, 0, 100)}}}),
            (Times{30, 0}));
}

TEST(Account, CoresThatAreNotThereComputeNothing) {
  EXPECT_EQ(account({{0, 100, {put(10, 40), put(60, 80)}}, {20, 30, {}}, {70, 100, {}}}),
            (Times{50, 20}));
}

TEST(Account, WhatOnlyRecordingNotesDoesNotCount) {
  Event held = wait(20, 30);
  held.waited = false;
  EXPECT_EQ(account({{0, 100, {put(10, 40)}},
                     {0,
                      100,
                      {event(EventKind::tile, 5, 5), held, wait(50, 60),
                       event(EventKind::notify, 70, 80)}}}),
            (Times{30, 30}));
}

TEST(Account, TransfersAtOnceCountOnce) {
  EXPECT_EQ(account({{0, 50, {put(10, 40)}}, {0, 50, {get(20, 50)}}}), (Times{40, 20}));
  EXPECT_EQ(account({{0, 50, {put(0, 50)}}, {0, 50, {get(0, 50)}}, {0, 50, {wait(0, 20)}}}),
            (Times{50, 30}));
}

TEST(Account, AShortPauseIsNoComputation) {
  std::vector<Event> gather, other{put(0, 100)};
  for (uint64_t n = 0; n < 10; ++n) // the loop around the puts takes 100 ns
    gather.push_back({n * 10 * us + 100, (n + 1) * 10 * us, EventKind::put});
  EXPECT_EQ(account({{0, 100, gather}, {0, 100, other}}), (Times{100, 0}));
  EXPECT_EQ(account({{0, 100, gather}, {0, 100, {wait(0, 100)}}}), (Times{99, 0})); // no transfer
  for (uint64_t n = 0; n < 10; ++n)
    gather[n].begin = n * 10 * us + kPauseNs;
  EXPECT_EQ(account({{0, 100, gather}, {0, 100, other}}), (Times{100, 2}));
}

TEST(Account, CountsWhatItDoesNotKnow) {
  std::vector<Event> known{put(0, 10)};
  CoreSpan full(0, 100 * us, known), other(0, 100 * us, {});
  full.knownUntil = 20 * us;
  full.dropped = 7;
  std::vector<Event> late{put(15, 90)};
  CoreSpan third(0, 100 * us, late);
  TransferTime time = accountTransfers(std::vector{full, other, third});
  EXPECT_EQ((Times{time.transferNs / us, time.hiddenNs / us}), (Times{15, 15}));
  EXPECT_EQ(time.dropped, 7u);
}

TEST(EventLog, CountsWhatItHasNoRoomFor) {
  EventLog log(3);
  for (int launch = 0; launch < 2; ++launch) {
    log.start();
    for (uint64_t n = 0; n < 5; ++n)
      log.add(EventKind::get, n * 10, n * 10 + 5);
    log.finish();
    EXPECT_EQ(log.events().size(), 3u);
    EXPECT_EQ(log.events()[2].begin, 20u);
    EXPECT_EQ(log.dropped(), 2u);
    EXPECT_EQ(log.firstDropped(), 30u);
    EXPECT_LE(log.begin(), log.end());
  }
  log.start();
  for (int n = 0; n < 6; ++n)
    log.add(EventKind::notify, nowTicks(), nowTicks());
  log.finish();
  EXPECT_EQ(log.dropped(), 3u);
  EXPECT_GE(log.firstDropped(), log.timeOf(log.events()[2].end));
  EXPECT_LE(log.firstDropped(), log.end());
}

void napFor(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

/// arguments: box, signal, flags, whether core 1 waits. Core 0 puts for a while; core 1 does
/// something else meanwhile.
void besideKernel(CoreContext *context, const int64_t *arguments) {
  auto *box = reinterpret_cast<int64_t *>(arguments[0]);
  auto *done = reinterpret_cast<SignalCell *>(arguments[1]);
  auto *flags = reinterpret_cast<std::atomic<int> *>(arguments[2]);
  const int64_t words = 1 << 16, one = 1;
  if (context->core == 1) {
    flags[0] = 1;
    if (arguments[3])
      ditron_wait(context, done, 1, 0, "signal 'done'");
    while (flags[1] == 0)
      napFor(std::chrono::milliseconds(1));
    return;
  }
  while (flags[0] == 0)
    napFor(std::chrono::milliseconds(1));
  napFor(std::chrono::milliseconds(10)); // until the other waits
  static const std::vector<int64_t> source(words);
  for (int n = 0; n < 100; ++n)
    ditron_put(context, box, source.data(), 8, 1, &words, &one, &one);
  ditron_notify(context, done, 1, 0);
  flags[1] = 1;
}

SCENARIO(beside) {
  auto &workspace = rank.workspace(
      "beside", {SymmetricArray::buffer("box", 8 << 16), SymmetricArray::signals("done", {1})});
  KernelCode code{"beside", besideKernel, 0, {0, 1}};
  for (int64_t waits = 0; waits < 2; ++waits) {
    std::atomic<int> flags[2]{};
    int64_t arguments[] = {0, 0, reinterpret_cast<int64_t>(flags), waits};
    LaunchStats stats = launch(rank, code, arguments, &workspace);
    TransferTime time = stats.transfers;
    expect(time.dropped == 0 && time.transferNs > 0, "transfers");
    expect(double(time.transferNs) < 1e9 * stats.seconds, "no more transfers than time");
    if (waits)
      expect(time.hiddenNs < time.transferNs / 2, "waits hide nothing");
    else
      expect(time.hiddenNs == time.transferNs, "all hidden behind computation");
  }
}

TEST(Account, OfALaunch) {
  EXPECT_EQ(scenario::runAsThreads("beside", {.ranks = 2, .cores = 2}).error, "");
}

} // namespace
