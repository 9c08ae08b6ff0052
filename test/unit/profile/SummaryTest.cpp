// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrows, the times of the cores and the critical path, of timelines made by hand.
#include "ditron/profile/Summary.h"
#include "ditron/profile/Tables.h"
#include <gtest/gtest.h>

using namespace ditron::profile;

namespace {

/// A timeline to which slices are added lane by lane. Times are nanoseconds.
struct Maker {
  Timeline timeline;

  Maker(int ranks, int cores, int64_t end) {
    timeline.kernel = "made";
    timeline.ranks = ranks;
    timeline.cores = cores;
    for (int rank = 0; rank < ranks; ++rank)
      for (int core = 0; core < cores; ++core) {
        Lane &lane = timeline.lanes.emplace_back();
        lane.rank = rank;
        lane.core = core;
        lane.end = end;
      }
  }

  int32_t nameOf(const std::string &text) {
    for (size_t n = 0; n < timeline.names.size(); ++n)
      if (timeline.names[n] == text)
        return int32_t(n);
    timeline.names.push_back(text);
    return int32_t(timeline.names.size() - 1);
  }

  Slice &add(size_t lane, Kind kind, int64_t begin, int64_t end, const std::string &place = "") {
    Slice &slice = timeline.lanes[lane].slices.emplace_back();
    slice.kind = kind;
    slice.begin = begin;
    slice.end = end;
    slice.waited = kind == Kind::barrier;
    if (!place.empty())
      slice.place = nameOf(place);
    return slice;
  }
  void role(size_t lane, int64_t begin, int64_t end, const std::string &name) {
    add(lane, Kind::role, begin, end).name = nameOf(name);
  }
  /// A notify of a counter of `peer`, from `before` to `after`.
  void notify(size_t lane, int64_t time, int peer, int64_t counter, int64_t before, int64_t after) {
    Slice &slice = add(lane, Kind::notify, time, time + 1);
    slice.peer = peer;
    slice.values[0] = counter;
    slice.values[1] = before;
    slice.values[2] = after;
  }
  void wait(size_t lane, int64_t begin, int64_t end, int64_t counter, int64_t base, int64_t count,
            bool waited = true) {
    Slice &slice = add(lane, Kind::wait, begin, end, "wait.cpp:1");
    slice.waited = waited;
    slice.values[0] = counter;
    slice.values[1] = base + count;
  }
  void barrier(size_t lane, int64_t begin, int64_t end, bool all, int64_t count, int64_t instance) {
    Slice &slice = add(lane, Kind::barrier, begin, end);
    slice.values[0] = all;
    slice.values[2] = count;
    slice.values[3] = instance;
  }

  /// "0.1>2.0": the arrows, each as lane.slice of its ends.
  std::string arrows() {
    timeline.link();
    std::string text;
    for (const Arrow &arrow : timeline.arrows)
      text += (text.empty() ? "" : " ") + std::to_string(arrow.from.lane) + "." +
              std::to_string(arrow.from.slice) + ">" + std::to_string(arrow.to.lane) + "." +
              std::to_string(arrow.to.slice);
    return text;
  }
};

TEST(Link, TheNotifyThatReachesTheCount) {
  Maker make(2, 1, 100);
  // Counter 3 of rank 1 stood at 10. It is raised by 1, 2 and 1; the last comes first in this lane.
  make.notify(0, 30, 1, 3, 13, 14);
  make.notify(0, 10, 1, 3, 10, 11);
  make.notify(0, 20, 1, 3, 11, 13);
  make.notify(0, 5, 0, 3, 10, 99); // another rank's
  make.notify(0, 6, 1, 4, 10, 99); // another counter
  make.wait(1, 0, 12, 3, 10, 1);
  make.wait(1, 12, 22, 3, 10, 2);
  make.wait(1, 22, 23, 3, 10, 3, false);
  make.wait(1, 23, 40, 3, 10, 4);
  make.wait(1, 40, 50, 3, 10, 5); // its notify is not there
  EXPECT_EQ(make.arrows(), "0.1>1.0 0.2>1.1 0.2>1.2 0.0>1.3");
}

TEST(Link, ANotifyOfNothingLetsNobodyGoOn) {
  Maker make(1, 2, 100);
  make.notify(0, 10, 0, 0, 5, 5);
  make.wait(1, 0, 20, 0, 4, 1);
  EXPECT_EQ(make.arrows(), "");
}

TEST(Link, BarriersWaitForTheLast) {
  Maker make(2, 2, 100);
  make.barrier(0, 10, 31, false, 2, 0); // of rank 0
  make.barrier(1, 30, 30, false, 2, 0);
  make.barrier(2, 5, 10, false, 2, 0); // of rank 1: one is missing
  make.barrier(0, 40, 61, true, 2, 1); // of all
  make.barrier(1, 41, 61, true, 2, 1);
  make.barrier(2, 60, 61, true, 2, 1);
  make.barrier(3, 42, 62, true, 2, 1);
  EXPECT_EQ(make.arrows(), "2.1>0.1 2.1>1.1 2.1>3.0 1.0>0.0");
}

/// The two lanes' clocks differ by 7 ns.
TEST(Link, ACauseComesBeforeItsEffect) {
  Maker make(2, 1, 100);
  make.role(0, 10, 60, "r");
  make.add(0, Kind::tile, 12, 40, "tile.cpp:1");
  make.add(0, Kind::put, 20, 28, "put.cpp:1");
  make.notify(0, 36, 1, 3, 0, 1);
  make.add(0, Kind::tile, 40, 50, "tile.cpp:1");
  make.wait(1, 5, 30, 3, 0, 1);
  make.notify(1, 30, 0, 5, 0, 1);
  EXPECT_EQ(make.arrows(), "0.3>1.0");
  std::string times;
  for (const Slice &slice : make.timeline.lanes[0].slices)
    times += std::to_string(slice.begin) + "-" + std::to_string(slice.end) + " ";
  EXPECT_EQ(times, "10-60 12-40 20-28 29-37 40-50 ");
}

TEST(Pieces, CoverTheLane) {
  Maker make(1, 1, 100);
  make.role(0, 10, 90, "r");
  make.add(0, Kind::tile, 20, 50, "tile.cpp:1");
  make.add(0, Kind::put, 25, 30, "put.cpp:1");
  make.notify(0, 30, 0, 0, 0, 1); // part of the computation
  make.wait(0, 35, 40, 0, 0, 1, false);
  make.add(0, Kind::tile, 50, 60, "tile.cpp:1");
  make.add(0, Kind::get, 50, 60, "get.cpp:1");
  make.wait(0, 70, 80, 0, 0, 2);
  const Timeline &timeline = make.timeline;
  std::string text;
  int64_t at = 0;
  for (const Piece &piece : piecesOf(timeline.lanes[0])) {
    EXPECT_EQ(piece.begin, at);
    at = piece.end;
    text += std::to_string(piece.end) + " " + name(piece.state) + " " + timeline.text(piece.role) +
            " " + timeline.text(piece.place) + "\n";
  }
  EXPECT_EQ(text, "10 compute  \n20 compute r \n25 compute r tile.cpp:1\n30 transfer r put.cpp:1\n"
                  "50 compute r tile.cpp:1\n60 transfer r get.cpp:1\n70 compute r \n"
                  "80 wait r wait.cpp:1\n90 compute r \n100 compute  \n");
}

TEST(Summary, TimesAddUp) {
  Maker make(2, 2, 1000000);
  make.timeline.lanes[1].begin = 200000;
  make.timeline.lanes[3].end = 700000;
  make.add(0, Kind::put, 0, 400000);
  make.wait(1, 200000, 300000, 0, 0, 1);
  make.add(2, Kind::get, 100000, 200000);
  Summary summary = summarize(make.timeline);
  EXPECT_DOUBLE_EQ(summary.seconds, 1e-3);
  ASSERT_EQ(summary.ranks.size(), 2u);
  const RankSummary &first = summary.ranks[0];
  EXPECT_DOUBLE_EQ(first.times.transfer, 4e-4);
  EXPECT_DOUBLE_EQ(first.times.wait, 1e-4);
  EXPECT_DOUBLE_EQ(first.times.absent, 2e-4);
  EXPECT_DOUBLE_EQ(first.times.compute, 13e-4);
  EXPECT_EQ(first.transfers.transferNs, 400000u);
  EXPECT_EQ(first.transfers.hiddenNs, 100000u); // while core 1 is there and does not wait
  EXPECT_EQ(summary.ranks[1].transfers.exposedNs(), 0u);
  CoreTimes all = summary.times();
  EXPECT_NEAR(all.compute + all.transfer + all.wait + all.absent, 4e-3, 1e-12);
}

TEST(Summary, WhatIsNotKnownIsSaid) {
  Maker make(1, 2, 1000);
  Lane &full = make.timeline.lanes[0];
  full.knownUntil = 400;
  full.dropped = 7;
  full.cpu = 500;
  make.add(0, Kind::put, 100, 400);
  Summary summary = summarize(make.timeline);
  EXPECT_NEAR(summary.times().unknown, 600e-9, 1e-15);
  EXPECT_NEAR(summary.times().compute, 1100e-9, 1e-15);
  EXPECT_NEAR(summary.times().all(), 2000e-9, 1e-15);
  EXPECT_FALSE(summary.path.isKnown);
  EXPECT_EQ(describe(summary.path), "not known, as events are missing");
  EXPECT_EQ(timesTable(summary).head[5], "unknown");
  EXPECT_EQ(timesTable(summary).rows[0][6], "-"); // CPU time is of the whole launch
}

TEST(Summary, CpuTime) {
  Maker make(2, 1, 1000);
  make.timeline.lanes[0].cpu = 300;
  make.timeline.lanes[1].cpu = 1001;
  make.wait(0, 100, 500, 0, 0, 1);
  Summary summary = summarize(make.timeline);
  EXPECT_DOUBLE_EQ(summary.ranks[0].times.cpuShare(), 0.5);
  EXPECT_DOUBLE_EQ(summary.ranks[1].times.cpuShare(), 1);
  Table table = timesTable(summary);
  EXPECT_EQ(table.head[5], "CPU");
  EXPECT_EQ(table.rows[0][5], "50 %");
  EXPECT_GT(summary.times().cpu, 0);

  make.timeline.lanes[1].cpu = 0;
  Summary partly = summarize(make.timeline);
  EXPECT_EQ(partly.times().cpu, 0);
  EXPECT_EQ(timesTable(partly).rows[1][5], "-");
  EXPECT_EQ(timesTable(partly).rows[2][5], "-");
}

/// Core 1 of rank 0 computes for 100, then notifies; core 0 of rank 1 waits from 20 to 110,
/// computes to 300, puts to 350 and notifies; core 1 of rank 1 waits from 0 to 360 and computes to
/// 400.
Maker chain() {
  Maker make(2, 2, 400);
  make.timeline.lanes[0].end = 90;
  make.timeline.lanes[1].begin = 7;
  make.timeline.lanes[1].end = 120;
  make.timeline.lanes[2].end = 370;
  make.role(1, 7, 120, "first");
  make.add(1, Kind::tile, 10, 100, "first.cpp:1");
  make.notify(1, 100, 1, 0, 0, 1);
  make.role(2, 0, 370, "second");
  make.wait(2, 20, 110, 0, 0, 1);
  make.add(2, Kind::put, 300, 350, "put.cpp:1");
  make.notify(2, 350, 1, 1, 0, 1);
  make.role(3, 0, 400, "third");
  make.wait(3, 0, 360, 1, 0, 1);
  make.timeline.link();
  return make;
}

TEST(CriticalPath, FollowsTheSignals) {
  Maker make = chain();
  CriticalPath path = criticalPath(make.timeline);
  std::string text;
  for (const Step &step : path.steps)
    text += std::to_string(step.lane) + " " + std::to_string(step.piece.begin) + "-" +
            std::to_string(step.piece.end) + " " + name(step.piece.state) + "\n";
  EXPECT_EQ(text, "1 7-10 compute\n1 10-100 compute\n2 100-110 wait\n2 110-300 compute\n"
                  "2 300-350 transfer\n3 350-360 wait\n3 360-400 compute\n");
  EXPECT_EQ(path.signals, 2);
  EXPECT_NEAR(path.before, 7e-9, 1e-15);
  EXPECT_NEAR(path.compute, 323e-9, 1e-15);
  EXPECT_NEAR(path.transfer, 50e-9, 1e-15);
  EXPECT_NEAR(path.wait, 20e-9, 1e-15);
  EXPECT_NEAR(path.seconds(), 400e-9, 1e-15);
  ASSERT_EQ(path.contributions.size(), 7u);
  EXPECT_EQ(path.contributions[0].role, "second");
  EXPECT_NEAR(path.contributions[0].seconds, 190e-9, 1e-15);
  EXPECT_EQ(path.contributions[1].place, "first.cpp:1");
}

TEST(CriticalPath, AWaitThatNobodyExplainsStays) {
  Maker make = chain();
  make.timeline.lanes[2].slices[3].values[2] = 0; // the second notify raised nothing
  make.timeline.link();
  CriticalPath path = criticalPath(make.timeline);
  EXPECT_EQ(path.signals, 0);
  EXPECT_NEAR(path.wait, 360e-9, 1e-15);
  EXPECT_NEAR(path.seconds(), 400e-9, 1e-15);
}

TEST(CriticalPath, ANotifyBeforeTheWaitDoesNotLead) {
  Maker make(1, 2, 100);
  make.notify(0, 10, 0, 0, 0, 1);
  make.wait(1, 20, 30, 0, 0, 1); // asleep, although it had come
  make.timeline.link();
  CriticalPath path = criticalPath(make.timeline);
  EXPECT_EQ(path.signals, 0);
  EXPECT_NEAR(path.seconds(), 100e-9, 1e-15);
}

TEST(CriticalPath, OfNothing) {
  EXPECT_EQ(criticalPath({}).seconds(), 0);
  Maker make(1, 1, 0);
  EXPECT_EQ(criticalPath(make.timeline).seconds(), 0);
}

TEST(Tables, AreAligned) {
  EXPECT_EQ(format({{"a", "name"}, {{"1", "x"}, {"22", "longer"}}}, {1}, "> "),
            ">  a  name\n>  1  x\n> 22  longer\n");
  EXPECT_EQ(describe(criticalPath(chain().timeline)),
            "0.4 us over 2 signals: compute 81 %, transfer 12 %, wait 5 %, start 2 %");
}

} // namespace
