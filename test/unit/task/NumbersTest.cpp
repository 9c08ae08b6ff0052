// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that tasks pass, and what kernels make of them: grids, signals, requirements.
#include "ditron/driver/Context.h"
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

} // namespace
} // namespace ditron
