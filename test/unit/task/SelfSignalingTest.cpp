// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which values of a graph signal themselves, and what their tasks wait for.
#include "ditron/task/SelfSignaling.h"
#include "ditron/driver/Context.h"
#include "ditron/task/TaskGraph.h"
#include "test/unit/task/GraphKernels.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

namespace ditron {
namespace {

using namespace testing_graphs;
using task::Machine;
using task::Plan;

/// A graph whose one input is x[rows,columns], on so many cores.
struct Scheduled {
  Scheduled(const TaskGraph &graph, int64_t rows, int64_t columns, int64_t cores)
      : data(graph.graph()), footprints(data.types.begin(), data.types.end()),
        shapes(task::shapesOf(data, {{rows, columns}}, 1)), machine{.cores = cores},
        values(task::selfSignalingValues(data, footprints, shapes, machine)),
        plan(task::schedule(data, footprints, shapes, machine, values)) {}

  /// The numbers of the nodes that write such values.
  std::vector<size_t> writers() const {
    std::vector<size_t> result;
    for (size_t n = 0; n < data.nodes.size(); ++n)
      for (size_t a = 0; a < data.nodes[n].operands.size(); ++a) {
        const auto *value = std::get_if<size_t>(&data.nodes[n].operands[a]);
        bool isWritten = data.kernelOf(data.nodes[n]).parameters()[a].access == Access::write;
        if (value && isWritten && !values.empty() && values[*value])
          result.push_back(n);
      }
    return result;
  }
  /// Waits of the tasks of a node.
  size_t waitsOf(size_t node) const {
    size_t count = 0;
    for (const auto &queue : plan.queues)
      for (const task::Task &one : queue)
        count += one.node == node ? one.waits.size() : 0;
    return count;
  }

  const task::Graph &data;
  std::vector<task::Footprint> footprints;
  task::Shapes shapes;
  Machine machine;
  std::vector<bool> values;
  Plan plan;
};

using Writers = std::vector<size_t>;

/// x -> long -> short -> long, of which those in the middle signal themselves.
TaskGraph chain(const Tensor &weights) {
  TaskGraph g("chain");
  Value w = g.constant(weights), x = g.input("x[M,N]");
  Value b = g.task(affine(), g.task(heavy(2), x, w), 1.0);
  g.output(g.task(heavy(), b, w));
  return g;
}

/// 16 rows of 16.
Tensor weights() {
  Tensor tensor = Tensor::own(DType::f32, {16, 16});
  for (int64_t n = 0; n < tensor.elements(); ++n)
    tensor.as<f32>()[n] = float(n % 7) - 3;
  return tensor;
}

TEST(SelfSignaling, ChainsOfNodesThatReadMoreThanTheyHandOn) {
  TaskGraph g = chain(weights());
  Scheduled run(g, 8, 16, 8);
  // Short between long ones: all that it takes and makes signals itself.
  EXPECT_EQ(run.writers(), (Writers{0, 1}));
  EXPECT_EQ(run.waitsOf(1) + run.waitsOf(2), 0u);
  for (const auto &queue : run.plan.queues)
    for (const task::Task &one : queue) {
      EXPECT_EQ(one.tellsQuietly, one.node < 2);
      EXPECT_EQ(one.tellsCore, one.node == 2);
    }
}

TEST(SelfSignaling, NoneBesideShortNodesThatMakeOutputs) {
  TaskGraph g("chain");
  Value w = g.constant(Tensor::own(DType::f32, {16, 16})), x = g.input("x[M,N]");
  g.output(g.task(centre(), g.task(heavy(), x, w)));
  Scheduled run(g, 8, 16, 8);
  EXPECT_TRUE(run.writers().empty());
  EXPECT_GT(run.waitsOf(1), 0u);
}

TEST(SelfSignaling, NoneThatIsReadTwiceByATask) {
  TaskGraph g("square");
  Value w = g.constant(Tensor::own(DType::f32, {32, 16})), x = g.input("x[M,N]");
  Value s = g.task(square(), g.task(heavy(), x, w));
  g.output(s);
  EXPECT_TRUE(Scheduled(g, 16, 16, 2).writers().empty()); // eight tiles a task share rows
}

TEST(SelfSignaling, NoneBesideACountOrBehindOthers) {
  TaskGraph g("residual");
  Value w = g.constant(Tensor::own(DType::f32, {16, 16})), x = g.input("x[M,N]");
  Value a = g.task(heavy(2), x, w), b = g.task(heavy(3), a, w), c = g.task(heavy(), b, w);
  g.output(g.task(heavy(4), g.task(blend(), a, c), w));
  // Who blends a and c waits for c, and a is there by then. As it does not look for a, it does not look for c.
  Scheduled run(g, 8, 16, 8);
  EXPECT_EQ(run.writers(), (Writers{1}));
}

/// What some launches of a graph of weights leave of this input.
std::vector<float> resultOf(TaskGraph (*make)(const Tensor &), Mode mode,
                            const std::vector<float> &input) {
  Context ctx = Context::init({.cores = 4});
  TaskGraph graph = make(ctx.tensorFrom(weights()));
  Tensor host = Tensor::own(DType::f32, {8, 16});
  Tensor out = ctx.tensor<f32>({8, 16});
  TaskProgram program = ctx.compile(graph, {.mode = mode});
  for (float more :
       {1.0f, 2.0f,
        3.0f}) { // of another input each, which memory of the launch before does not fit
    for (size_t n = 0; n < input.size(); ++n)
      host.as<f32>()[n] = input[n] * more;
    program.launch({ctx.tensorFrom(host), out});
  }
  host = out.toHost();
  return {host.as<f32>(), host.as<f32>() + host.elements()};
}

TEST(SelfSignaling, ResultsAreThoseOfAStream) {
  std::vector<float> input(128);
  for (size_t n = 0; n < input.size(); ++n)
    input[n] = float(n % 11) / 4;
  EXPECT_EQ(resultOf(chain, Mode::megakernel, input), resultOf(chain, Mode::stream, input));
}

/// y = x, bit by bit.
Kernel copied() {
  return Kernel("copied(x[M,N]) -> y[M,N]", [](In<f32> X, Out<f32> Y) {
    auto x = X.tiled(kTile, kTile);
    auto y = Y.tiled(kTile, kTile);
    for (auto [i, j] : y.tiles())
      y(i, j) = Tile(x(i, j));
  });
}

TaskGraph behindCopy(const Tensor &weights) {
  TaskGraph g("copied");
  Value w = g.constant(weights), x = g.input("x[M,N]");
  g.output(g.task(heavy(), g.task(copied(), x), w));
  return g;
}

TEST(SelfSignaling, WhatReadersWaitForIsNeverWritten) {
  TaskGraph g = behindCopy(weights());
  EXPECT_EQ(Scheduled(g, 8, 16, 8).writers(), Writers{0});
  // All bits of this NaN are set: no result is it, and an input may be.
  std::vector<float> input(128, std::bit_cast<float>(0xffffffffu));
  for (float found : resultOf(behindCopy, Mode::megakernel, input))
    EXPECT_TRUE(std::isnan(found));
}

} // namespace
} // namespace ditron
