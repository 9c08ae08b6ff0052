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

/// y = x times w transposed: tiles of a row read the same of x, and twice as much of w each.
Kernel product() {
  return Kernel("product(x[M,K], w[N,K]) -> y[M,N]", [](In<f32> X, In<f32> W, Out<f32> Y) {
    auto x = X.tiled(kTile, kTile), w = W.tiled(2 * kTile, kTile);
    auto y = Y.tiled(kTile, 2 * kTile);
    for (auto [i, j] : y.tiles()) {
      Var acc = zeros<f32>(kTile, 2 * kTile);
      for (auto k : range(x.cols()))
        acc += dot(x(i, k), transpose(w(j, k)));
      y(i, j) = acc;
    }
  });
}

TEST(SelfSignaling, NoneOfWhichATaskReadsMuch) {
  auto writersOf = [](int64_t columns) {
    TaskGraph g("product");
    Value w = g.constant(Tensor::own(DType::f32, {2 * 4, columns})), x = g.input("x[M,K]");
    Value weights = g.constant(Tensor::own(DType::f32, {128, columns}));
    g.output(g.task(product(), g.task(heavy(), x, w), weights));
    return Scheduled(g, 4, columns, 2).writers();
  };
  EXPECT_EQ(writersOf(384), Writers{0}); // 6 KB of each of eight tiles
  EXPECT_TRUE(writersOf(400).empty());
}

TEST(SelfSignaling, WhatPassesByOtherNodes) {
  TaskGraph g("residual");
  Value w = g.constant(Tensor::own(DType::f32, {16, 16})), x = g.input("x[M,N]");
  Value a = g.task(heavy(2), x, w), b = g.task(heavy(3), a, w), c = g.task(heavy(), b, w);
  g.output(g.task(heavy(4), g.task(blend(), a, c), w));
  Scheduled run(g, 8, 16, 8);
  EXPECT_EQ(run.writers(), (Writers{0, 1, 2, 3}));
  EXPECT_EQ(run.waitsOf(1) + run.waitsOf(2) + run.waitsOf(3) + run.waitsOf(4), 0u);
}

/// As heavy, and twice that.
Kernel heavyAndTwice() {
  return Kernel("heavy-and-twice(x[M,N], w[2*M,N]) -> y[M,N], z[M,N]",
                [](In<f32> X, In<f32> W, Out<f32> Y, Out<f32> Z) {
                  auto x = X.tiled(kTile, kTile), w = W.tiled(2 * kTile, kTile);
                  auto y = Y.tiled(kTile, kTile), z = Z.tiled(kTile, kTile);
                  for (auto [i, j] : y.tiles()) {
                    auto sums = x(i, j) + sum(w(i, j), 0);
                    y(i, j) = sums;
                    z(i, j) = sums * 2;
                  }
                });
}

TEST(SelfSignaling, NoneThatACountSays) {
  struct Both {
    Value y, z;
  };
  TaskGraph g("counted");
  Value w = g.constant(Tensor::own(DType::f32, {16, 16})), x = g.input("x[M,N]");
  Both both = g.task(heavyAndTwice(), x, w);
  g.output(both.z); // so it counts, and who waits for what is made of it knows of y
  Value a = g.task(heavy(2), both.z, w);
  g.output(a);
  g.output(g.task(heavy(3), g.task(blend(), a, both.y), w));
  EXPECT_TRUE(Scheduled(g, 8, 16, 8).writers().empty());
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

/// As heavy, summed over the ranks.
Kernel heavySum(float factor = 1) {
  return Kernel("heavy-sum(x[M,N], w[2*M,N]) -> y[M,N]", [=](In<f32> X, In<f32> W, Out<f32> Y) {
    auto x = X.tiled(kTile, kTile), w = W.tiled(2 * kTile, kTile);
    auto y = Y.tiled(kTile, kTile);
    auto box = inbox<f32>({numRanks(), y.rows(), y.cols()}, {kTile, kTile}, "parts");
    for (auto [i, j] : y.tiles()) {
      Tile part = x(i, j) * factor + sum(w(i, j), 0);
      kernels::sendToPeers(part, box, i, j);
      y(i, j) = kernels::sumOfReceived<f32>(part, box, i, j);
    }
  });
}

TaskGraph sumsOfRanks(const Tensor &weights) {
  TaskGraph g("sums");
  Value w = g.constant(weights), x = g.input("x[M,N]");
  Value a = g.task(heavySum(), x, w), b = g.task(heavy(2), a, w);
  g.output(g.task(heavySum(0.5f), g.task(blend(), a, b), w));
  return g;
}

/// Tiles in inboxes are tasks, and their results signal themselves.
TEST(SelfSignaling, RanksSumByInboxes) {
  EXPECT_EQ(Scheduled(sumsOfRanks(weights()), 8, 16, 8).writers(), (Writers{0, 1, 2}));
  auto resultsOf = [](int ranks, Mode mode) {
    std::vector<std::vector<float>> results(static_cast<size_t>(ranks));
    runRanks({.ranks = ranks, .cores = 2}, [&](Context &ctx) {
      TaskProgram step = ctx.compile(sumsOfRanks(ctx.tensorFrom(weights())), {.mode = mode});
      Tensor host = Tensor::own(DType::f32, {8, 16});
      for (int64_t n = 0; n < host.elements(); ++n)
        host.as<f32>()[n] = float((n + 5 * ctx.rank()) % 11) / 4;
      Tensor x = ctx.tensorFrom(host);
      Tensor y = ctx.tensor<f32>({8, 16});
      step.prepare({x, y}); // loading code may wait for what other ranks have launched
      ctx.barrier();
      for (int launch = 0; launch < 2; ++launch) {
        step(x, y);
        step(y, x);
      }
      host = x.toHost();
      results[static_cast<size_t>(ctx.rank())].assign(host.as<f32>(),
                                                      host.as<f32>() + host.elements());
    });
    return results;
  };
  for (int ranks : {1, 2, 3})
    EXPECT_EQ(resultsOf(ranks, Mode::megakernel), resultsOf(ranks, Mode::stream)) << ranks;
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
