// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timelines of graphs: tasks are roles, and waits say for which task.
#include "ditron/ditron.h"
#include "ditron/profile/Export.h"
#include "ditron/profile/Profiler.h"
#include "ditron/profile/TaskSummary.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace ditron;

namespace {

constexpr int64_t kTile = 16;

Kernel twice() {
  return {"twice(x[M,N]) -> y[M,N]", [](In<f32> X, Out<f32> Y) {
            auto x = X.tiled(kTile, kTile);
            auto y = Y.tiled(kTile, kTile);
            for (auto [i, j] : y.tiles())
              y(i, j) = x(i, j) * 2;
          }};
}

/// Reads the first row of tiles, whoever wrote it.
Kernel addTop() {
  return {"add-top(x[M,N]) -> y[M,N]", [](In<f32> X, Out<f32> Y) {
            auto x = X.tiled(kTile, kTile);
            auto y = Y.tiled(kTile, kTile);
            for (auto [i, j] : y.tiles())
              y(i, j) = x(i, j) + x(0, j);
          }};
}

TaskGraph steps() {
  TaskGraph g("steps");
  Value x = g.input("x[M,N]");
  g.label("first");
  Value a = g.task(twice(), x);
  g.label("second");
  Value b = g.task(addTop(), a);
  g.label("third");
  g.output(g.task(addTop(), b));
  return g;
}

profile::Timeline record(Mode mode, int ranks = 1) {
  profile::Timeline timeline;
  runRanks({.ranks = ranks, .cores = 2}, [&](Context &ctx) {
    Tensor ones = Tensor::own(DType::f32, {128, 64});
    std::fill_n(ones.as<f32>(), ones.elements(), 1.0f);
    Tensor x = ctx.tensorFrom(ones), y = ctx.tensor<f32>({128, 64});
    profile::Profiler profiler(ctx);
    TaskProgram step = profiler.compile(steps(), {.mode = mode});
    for (int n = 0; n < 3; ++n)
      step(x, y);
    profile::Timeline mine = profiler.timeline();
    EXPECT_EQ(y.toHost().as<f32>()[0], 8.0f);
    if (ctx.rank() == 0)
      timeline = mine;
  });
  return timeline;
}

/// The labels of the tasks of a lane, in the order of time.
std::vector<std::string> tasksOf(const profile::Timeline &timeline, size_t lane) {
  std::vector<std::string> labels;
  for (const profile::Slice &slice : timeline.lanes[lane].slices)
    if (slice.kind == profile::Kind::role && slice.task >= 0)
      labels.push_back(timeline.tasks[size_t(slice.task)].label);
  return labels;
}

const std::vector<std::string> kAll = {"first twice", "second add-top", "third add-top"};

TEST(TaskTraces, AMegakernelIsItsTasks) {
  for (int ranks : {1, 2}) {
    profile::Timeline timeline = record(Mode::megakernel, ranks);
    EXPECT_EQ(timeline.kernel, "steps");
    ASSERT_EQ(timeline.lanes.size(), size_t(2 * ranks));
    int waits = 0;
    for (size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
      EXPECT_EQ(tasksOf(timeline, lane), kAll);
      for (const profile::Slice &slice : timeline.lanes[lane].slices)
        if (slice.kind == profile::Kind::wait) {
          ASSERT_GE(slice.task, 0);
          EXPECT_EQ(timeline.tasks[size_t(slice.task)].label,
                    waits++ % 2 ? "second add-top" : "first twice");
        }
    }
    EXPECT_EQ(waits, 2 * ranks); // of core 1 for core 0, which has the first row
    EXPECT_EQ(timeline.arrows.size(), size_t(waits));
  }
}

TEST(TaskTraces, AStreamIsALaunchATask) {
  for (Mode mode : {Mode::stream, Mode::graph}) {
    profile::Timeline timeline = record(mode);
    ASSERT_EQ(timeline.lanes.size(), 2u);
    for (size_t lane : {0, 1})
      EXPECT_EQ(tasksOf(timeline, lane), kAll);
    EXPECT_EQ(timeline.arrows.size(), 2u); // between launches, from the slowest core to the other
  }
}

/// What holds on any device, on as many cores as it has.
void expectWhole(const profile::Timeline &timeline, Mode mode) {
  int tiles = 0, named = 0;
  for (size_t n = 0; n < timeline.lanes.size(); ++n) {
    const profile::Lane &lane = timeline.lanes[n];
    std::vector<std::string> tasks = tasksOf(timeline, n);
    EXPECT_TRUE(std::includes(kAll.begin(), kAll.end(), tasks.begin(), tasks.end()));
    EXPECT_EQ(lane.dropped, 0);
    for (const profile::Slice &slice : lane.slices) {
      EXPECT_LE(lane.begin, slice.begin);
      EXPECT_LE(slice.begin, slice.end);
      EXPECT_LE(slice.end, lane.end);
      tiles += slice.kind == profile::Kind::tile;
      named += slice.kind == profile::Kind::wait && slice.task >= 0;
    }
  }
  EXPECT_EQ(tiles, timeline.ranks * 3 * (128 / kTile) * (64 / kTile));
  EXPECT_EQ(named > 0, mode == Mode::megakernel);
  profile::Summary summary = summarize(timeline);
  std::string text = describeTasks(summarizeTasks(timeline, summary), 8);
  EXPECT_TRUE(summary.path.isKnown) << text;
  EXPECT_NE(text.find("critical path"), std::string::npos) << text;
}

TEST(TaskTraces, OnAnyDevice) {
  for (int ranks : {1, 2})
    for (Mode mode : {Mode::megakernel, Mode::stream, Mode::graph})
      expectWhole(record(mode, ranks), mode);
}

/// One row of x times W^T, by parts of rows of 2 KB: on some GPUs a thread of each CTA loads them ahead.
Kernel product() {
  constexpr int kRows = 4, kPart = 512;
  return {"product(x[B,K], W[N,K]) -> y[B,N]", [](In<f32> x, In<f32> W, Out<f32> y) {
            auto xs = x.tiled(1, kPart);
            auto rows = W.tiled(kRows, kPart);
            auto ys = y.tiled(1, kRows);
            for (auto [i, j] : ys.tiles()) {
              Var sums = zeros<f32>(kRows, kPart);
              for (auto k : range(xs.cols()))
                sums = fma(xs(i, k), rows(j, k), sums);
              ys(i, j) = reshape(sum(sums, 1), {1, kRows});
            }
          }};
}

/// What streams is recorded as other tasks are.
TEST(StreamedTaskTraces, OnAnyDevice) {
  constexpr int64_t kWidth = 520;
  Context ctx = Context::init({.cores = 2});
  Tensor ones = Tensor::own(DType::f32, {kWidth, kWidth});
  std::fill_n(ones.as<f32>(), ones.elements(), 1.0f);
  Tensor W = ctx.tensorFrom(ones), x = ctx.tensorFrom(ones.slice(0, 0, 1)),
         y = ctx.tensor<f32>({1, kWidth});
  TaskGraph g("products");
  Value row = g.input("x[B,K]"), matrix = g.input("W[K,K]");
  g.output(g.task(product(), g.task(product(), row, matrix), matrix));
  profile::Profiler profiler(ctx);
  TaskProgram step = profiler.compile(g, {.mode = Mode::megakernel});
  for (int n = 0; n < 2; ++n)
    step(x, W, y);
  profile::Timeline timeline = profiler.timeline();
  EXPECT_EQ(y.toHost().at({0, kWidth - 1}), double(kWidth * kWidth));
  int64_t tiles = 0;
  for (const profile::Lane &lane : timeline.lanes)
    tiles += std::ranges::count_if(
        lane.slices, [](const profile::Slice &slice) { return slice.kind == profile::Kind::tile; });
  EXPECT_EQ(tiles, 2 * kWidth / 4);
}

TEST(TaskTraces, TimesAddUp) {
  for (Mode mode : {Mode::megakernel, Mode::stream, Mode::graph}) {
    profile::Timeline timeline = record(mode);
    profile::Summary summary = summarize(timeline);
    profile::TaskSummary tasks = summarizeTasks(timeline, summary);
    ASSERT_EQ(tasks.types.size(), 2u);
    ASSERT_EQ(tasks.labels.size(), 3u);
    EXPECT_EQ(tasks.types[0].tasks + tasks.types[1].tasks, 6);
    ASSERT_EQ(tasks.cores.size(), 2u);
    double compute = 0, wait = 0, waits = 0, path = 0;
    for (const profile::TaskTimes &times : tasks.types)
      compute += times.compute, wait += times.wait;
    for (const profile::TaskWaits &times : tasks.waits)
      waits += times.seconds;
    for (const profile::TaskStep &step : tasks.path)
      path += step.seconds;
    for (const profile::TaskTimes &times : tasks.labels) {
      bool hasWaited = std::ranges::count(tasks.waits, times.name, &profile::TaskWaits::task) > 0;
      EXPECT_EQ(times.behind > 0, hasWaited) << times.name;
      EXPECT_LE(times.behind, times.longest + 1e-9) << times.name;
    }
    EXPECT_NEAR(wait, waits, 1e-9);
    EXPECT_LE(compute, summary.times().compute + 1e-9);
    EXPECT_LE(path, summary.path.seconds() + 1e-9);
    EXPECT_GT(path, 0);
    std::string text = describeTasks(tasks, 8);
    EXPECT_NE(text.find("add-top"), std::string::npos) << text;
    EXPECT_NE(text.find("critical path"), std::string::npos) << text;
    EXPECT_NE(profile::chromeTrace(timeline).find("second add-top"), std::string::npos);
  }
}

} // namespace
