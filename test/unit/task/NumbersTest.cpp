// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that tasks pass, and what kernels make of them: grids, signals, requirements.
#include "ditron/checker/CheckGraph.h"
#include "ditron/driver/Context.h"
#include "ditron/support/Error.h"
#include "test/unit/task/Errors.h"
#include "test/unit/task/GraphKernels.h"
#include <algorithm>
#include <gtest/gtest.h>

namespace ditron {
namespace {

using namespace testing_graphs;

constexpr Mode kModes[] = {Mode::stream, Mode::graph, Mode::megakernel};

/// y = 2 in the first `rows` rows of tiles.
Kernel someRows() {
  return Kernel("some-rows(rows) -> y[M,N]", [](Scalar<i32> rows, InOut<f32> Y) {
    auto y = Y.tiled(kTile, kTile);
    for (auto [i, j] : grid({toIndex(rows), y.cols()}))
      y(i, j) = full<f32>({kTile, kTile}, 2);
  });
}

/// How many elements are 2 behind a launch of the graph on 12 x 8 zeros.
int64_t countOf(const TaskGraph &graph, Mode mode) {
  Context ctx = Context::init({.cores = 2});
  Tensor y = ctx.tensor<f32>({12, 8});
  y.fill(0);
  ctx.compile(graph, {.mode = mode})(y);
  Tensor host = y.toHost();
  return std::count(host.as<float>(), host.as<float>() + host.elements(), 2.0F);
}

TEST(NumbersOfTasks, IntegersMayBeWrittenAsFloats) {
  TaskGraph exact("exact"), real("real");
  exact.task(someRows(), 2, inOut(exact.input("y[M,N]")));
  real.task(someRows(), 2.0, inOut(real.input("y[M,N]")));
  for (Mode mode : kModes) {
    EXPECT_EQ(countOf(exact, mode), 64);
    EXPECT_EQ(countOf(real, mode), 64);
  }
}

/// y = x + 1, behind a signal of an array whose extent is a number.
Kernel behindASignal() {
  return Kernel("behind-a-signal(x[M,N], extent) -> y[M,N]",
                [](In<f32> X, Scalar<i32> extent, Out<f32> Y) {
                  auto x = X.tiled(kTile, kTile);
                  auto y = Y.tiled(kTile, kTile);
                  auto done = signals({toIndex(extent)}, "done");
                  for (auto [i, j] : y.tiles()) {
                    y(i, j) = x(i, j) + 1;
                    notify(done(0));
                  }
                  wait(done(0), y.rows() * y.cols());
                });
}

TEST(NumbersOfTasks, SignalsHaveAsManyAsTheLargestAsksFor) {
  TaskGraph g("g");
  Value x = g.input("x[M,N]");
  g.output(g.task(behindASignal(), g.task(behindASignal(), x, 1), 3.0));
  Context ctx = Context::init({.cores = 2});
  for (Mode mode : kModes) {
    Tensor in = ctx.tensor<f32>({9, 8}), out = ctx.tensor<f32>({9, 8});
    in.fill(5);
    ctx.compile(g, {.mode = mode})(in, out);
    EXPECT_EQ(out.toHost().at({8, 7}), 7);
  }
}

/// y = x, if the number is above 0, whether y has elements or not.
Kernel requiring() {
  return Kernel("requiring(x[M,N], number[1]) -> y[M,N]",
                [](In<f32> X, In<i32, 1> number, Out<f32> Y) {
                  auto x = X.tiled(kTile, kTile);
                  auto y = Y.tiled(kTile, kTile);
                  Index n = toIndex(number.read({0}));
                  require(n > 0, "the number is {}, expected 1 or more", {n});
                  for (auto [i, j] : y.tiles())
                    y(i, j) = x(i, j);
                });
}

/// What it requires stands in front of its loop, and reads what the task before it has made.
TEST(NumbersOfTasks, ATaskWithoutTilesChecksWhatItRequires) {
  TaskGraph g("g");
  Value x = g.input("x[M,N]"), number = g.input("number[1]", DType::i32);
  g.output(g.task(requiring(), x, g.task(next(), number)));
  Context ctx = Context::init({.cores = 2});
  Tensor in = ctx.tensor<f32>({0, 8}), out = ctx.tensor<f32>({0, 8}), given = ctx.tensor<i32>({1});
  for (Mode mode : kModes) {
    TaskProgram step = ctx.compile(g, {.mode = mode});
    given.fill(0);
    step(in, given, out);
    ctx.sync();
    given.fill(-5);
    EXPECT_ERROR("the number is -4, expected 1 or more", step(in, given, out); ctx.sync());
  }
  Verdict verdict = check(g, {.cores = 2, .shape = {{"M", 0}, {"N", 8}}});
  EXPECT_TRUE(verdict.clean()) << verdict.text();
  TaskGraph negative("negative");
  negative.task(someRows(), -1, inOut(negative.input("y[M,N]")));
  Tensor y = ctx.tensor<f32>({12, 8});
  if (ctx.backend() == "cpu")
    EXPECT_ERROR("deals a grid of [-1, 2] tiles", ctx.compile(negative)(y); ctx.sync());
}

} // namespace
} // namespace ditron
