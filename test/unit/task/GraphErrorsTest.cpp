// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What graphs of tasks refuse, while they are made and at launches.
#include "ditron/driver/Context.h"
#include "ditron/support/Error.h"
#include "test/unit/task/Errors.h"
#include "test/unit/task/GraphKernels.h"
#include <gtest/gtest.h>
#include <thread>
#include <variant>

namespace ditron {
namespace {

using namespace testing_graphs;

TEST(TaskGraphErrors, NameTheTaskAndTheArgument) {
  TaskGraph g("g");
  g.label("layer 7");
  Value x = g.input("x[M,N]"), ints = g.input("ints[M,N]", DType::i32), line = g.input("line[N]");
  EXPECT_ERROR("g: task 'layer 7 affine' (affine): affine(x[M,N], step) -> y[M,N]: it is given 1 "
               "arguments, expected step too",
               g.task(affine(), x));
  EXPECT_ERROR("it is given 3 arguments, expected 2", g.task(affine(), x, 1.0, x));
  EXPECT_ERROR("x is a number, expected a tensor", g.task(affine(), 3, 1.0));
  EXPECT_ERROR("step is a tensor, expected a number", g.task(affine(), x, x));
  EXPECT_ERROR("x is of i32, expected f32", g.task(affine(), ints, 1.0));
  EXPECT_ERROR("x has 1 dimensions, expected 2", g.task(affine(), line, 1.0));
  EXPECT_ERROR("x is no value of this graph", g.task(affine(), Value(), 1.0));
  TaskGraph other("other");
  EXPECT_ERROR("x is no value of this graph", g.task(affine(), other.input("x[M,N]"), 1.0));
  EXPECT_ERROR("expected x too", g.task(accumulate(), x));
  EXPECT_ERROR("x is written by the kernel, expected inOut() or into()",
               g.task(accumulate(), x, x));
  EXPECT_ERROR("y and x are one value, and x is written: expected two",
               g.task(accumulate(), x, inOut(x)));
  EXPECT_ERROR("g: there are two inputs 'x'", g.input("x[K]"));
  EXPECT_ERROR("signature \"g(y[])\": expected a dimension at column 5", g.input("y[]"));
  EXPECT_ERROR("an input is declared as '-', expected a name", g.input("-"));
  EXPECT_ERROR("an input is declared as 'z', expected a name and dimensions", g.input("z"));
  EXPECT_ERROR("'x' cannot be an output: it is an input", g.output(x));
}

/// Whoever catches the error goes on with the graph as it was.
TEST(TaskGraphErrors, ATaskThatIsRefusedLeavesNothing) {
  TaskGraph g("g");
  Value x = g.input("x[M,N]");
  EXPECT_ERROR("expected y too", g.task(blend(), x));
  EXPECT_ERROR("it is given 3 arguments, expected 2", g.task(blend(), x, x, x));
  g.output(g.task(affine(), x, 1.0));
  EXPECT_EQ(g.graph().values.size(), 2u);
  EXPECT_EQ(g.graph().types.size(), 1u);
  Context ctx = Context::init({.cores = 1});
  Tensor in = ctx.tensor<f32>({5, 5}), out = ctx.tensor<f32>({5, 5});
  in.fill(3);
  ctx.compile(g)(in, out);
  EXPECT_EQ(out.toHost().at({4, 4}), 7);
}

TEST(TaskGraphErrors, NameTheResultsThatThereAre) {
  TaskGraph g("g");
  Value x = g.input("x[M,N]");
  const std::string line = "GraphErrorsTest.cpp:" + std::to_string(__LINE__ + 1);
  TaskResults results = g.task(affine(), x, 1.0);
  EXPECT_ERROR(line + ": value 1 of task 'affine' (affine) is asked for, which makes 1",
               results[1]);
  struct Two {
    Value first, second;
  };
  EXPECT_ERROR(line + ": task 'affine' (affine) makes 1 values, expected 2",
               [[maybe_unused]] Two two = results);
  EXPECT_ERROR("18446744073709551615 is no i64", g.task(affine(), x, UINT64_MAX));
}

/// A copy goes on from where the graph was; from then on neither takes what the other makes.
TEST(TaskGraphErrors, ValuesOfCopies) {
  TaskGraph g("g");
  Value x = g.input("x[M,N]"), y = g.task(affine(), x, 1.0);
  TaskGraph copy = g, again("again");
  again = copy;
  Value ours = g.task(affine(), y, 2.0), theirs = copy.task(centre(), y);
  EXPECT_ERROR("x is no value of this graph", g.task(affine(), theirs, 1.0));
  EXPECT_ERROR("x is no value of this graph", copy.task(affine(), ours, 1.0));
  EXPECT_ERROR("x is no value of this graph", again.task(affine(), theirs, 1.0));
  EXPECT_ERROR("an output is no value of the graph", again.output(ours));
  again.output(again.task(centre(), y));
  copy.output(theirs);
  TaskGraph moved = std::move(copy);
  moved.task(affine(), theirs, 1.0);
  const std::vector<task::Node> &nodes = moved.graph().nodes;
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(std::get<size_t>(nodes[2].operands[0]), theirs.number());
  EXPECT_EQ(again.graph().nodes.size(), 2u);
}

/// Tensors of a launch and constants are apart where one of them is written, whatever the mode.
TEST(TaskGraphErrors, TensorsThatOverlap) {
  Context ctx = Context::init({.cores = 2});
  Tensor all = ctx.tensor<f32>({8, 8}), other = ctx.tensor<f32>({6, 8});
  Tensor upper = all.slice(0, 0, 6), lower = all.slice(0, 2, 6);
  TaskGraph rows("rows");
  Value x = rows.input("x[M,N]");
  Value y = rows.task(centre(), rows.task(affine(), x, 1.0));
  rows.output(y);
  TaskGraph constants("constants");
  Value z = constants.input("z[M,N]");
  Value u = constants.constant(upper, "upper"), l = constants.constant(lower, "lower");
  constants.task(accumulate(), u, inOut(z));
  constants.task(accumulate(), z, inOut(l));
  TaskGraph sum("sum");
  Value w = sum.constant(upper, "upper");
  sum.task(accumulate(), w, inOut(sum.input("z[M,N]")));
  for (Mode mode : {Mode::stream, Mode::graph, Mode::megakernel}) {
    TaskProgram step = ctx.compile(rows, {.mode = mode}), add = ctx.compile(sum, {.mode = mode});
    EXPECT_ERROR("rows: 'x' and 'centre.y' overlap in memory, and 'centre.y' is written: expected "
                 "tensors apart",
                 step(upper, lower));
    EXPECT_ERROR("rows: 'x' and 'centre.y' overlap in memory", step.prepare({upper, upper}));
    EXPECT_ERROR("sum: 'upper' and 'z' overlap in memory, and 'z' is written", add(lower));
    EXPECT_ERROR("constants: 'upper' and 'lower' overlap in memory, and 'lower' is written",
                 ctx.compile(constants, {.mode = mode}));
    step(upper, other);
    add(other);
    step(other, lower); // other tensors than before
    ctx.sync();
  }
}

TEST(TaskGraphErrors, TensorsThatNoLaunchTakes) {
  Context ctx = Context::init({.cores = 1});
  TaskGraph g("g");
  Value x = g.input("x[M,N]");
  g.output(g.task(affine(), x, 1.0));
  Tensor in = ctx.tensor<f32>({4, 4}), one = ctx.tensor<f32>({1, 1});
  Tensor repeated = Tensor::borrow(ctx.device(), one.data(), DType::f32, {4, 4}, {0, 0});
  Tensor ofHost = Tensor::own(DType::f32, {4, 4});
  for (Mode mode : {Mode::stream, Mode::graph, Mode::megakernel}) {
    TaskProgram step = ctx.compile(g, {.mode = mode});
    EXPECT_ERROR("g: 'affine.y' is written and has stride 0 in dimension 0, where its extent is 4: "
                 "expected a place for each element",
                 step(in, repeated));
    if (!in.isHostAccessible())
      EXPECT_ERROR("g: 'x' is in the memory of the host, expected that of", step(ofHost, in));
    step(repeated, in);
    ctx.sync();
  }
}

/// Each has results of its own: launches follow one another, with the shapes of each.
TEST(TaskGraphs, ThreadsLaunchOneProgram) {
  Context ctx = Context::init({.cores = 2});
  TaskGraph g("g");
  Value x = g.input("x[M,N]");
  g.output(g.task(affine(), g.task(affine(), x, 1.0), 1.0));
  TaskProgram step = ctx.compile(g);
  auto launch = [&](int64_t rows) {
    for (int repeat = 0; repeat < 50; ++repeat) {
      Tensor in = ctx.tensor<f32>({rows + repeat % 3, 4});
      Tensor out = ctx.tensor<f32>({rows + repeat % 3, 4});
      in.fill(double(rows));
      step(in, out);
      EXPECT_EQ(out.toHost().at({rows - 1, 3}), double(4 * rows + 3));
    }
  };
  std::thread other([&] { launch(40); });
  launch(4);
  other.join();
}

TEST(TaskGraphErrors, ShapesThatDoNotFit) {
  TaskGraph g("g");
  Value x = g.input("x[M,N]"), y = g.input("y[K,N]");
  g.label("third");
  g.output(g.task(blend(), x, y));
  Context ctx = Context::init({.cores = 1});
  TaskProgram step = ctx.compile(g, {});
  Tensor a = ctx.tensor<f32>({4, 4}), b = ctx.tensor<f32>({5, 4}), c = ctx.tensor<f32>({4, 5});
  EXPECT_ERROR(
      "g: task 'third blend' (blend): blend(x[M,N], y[M,N]) -> z[M,N]: M is 4 in x but 5 in y",
      step(a, b, a));
  EXPECT_ERROR("g(x[M,N], y[K,N]): N is 4 in x but 5 in y", step(a, c, a));
  EXPECT_ERROR("launched with 2 tensors, expected 3: 2 inputs and 1 outputs", step(a, a));
  EXPECT_ERROR("output 'third blend.z' has shape [5, 4], expected [4, 4]", step(a, a, b));
  Tensor ints = ctx.tensor<i32>({4, 4});
  EXPECT_ERROR("'x' is of i32, expected f32", step(ints, a, a));
}

} // namespace
} // namespace ditron
