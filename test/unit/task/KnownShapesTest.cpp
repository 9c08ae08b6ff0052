// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of the shapes of a graph's launches when its kernel is compiled.
#include "ditron/core/KnownShape.h"
#include "ditron/driver/Context.h"
#include "ditron/support/Error.h"
#include "ditron/task/Fuse.h"
#include "test/unit/task/GraphKernels.h"
#include <gtest/gtest.h>

namespace ditron {
namespace {

using namespace testing_graphs;

constexpr int64_t kAny = core::kUnknownExtent;

/// y[M,ceil(N/3)] = the sum of each rank's rows of x[R*M,N], a few columns of it.
Kernel thirds() {
  return Kernel("thirds(x[R*M,N]) -> y[M,ceil(N/3)]", [](In<f32> X, Out<f32> Y) {
    auto y = Y.tiled(kTile, kTile);
    for (auto [i, j] : y.tiles())
      y(i, j) = X.tiled(kTile, kTile)(i, j);
  });
}

task::FusedKernel fused(const TaskGraph &g, task::Shapes known = {}) {
  const task::Graph &data = g.graph();
  return task::FusedKernel(data, {data.types.begin(), data.types.end()}, std::move(known));
}
std::string irOf(const TaskGraph &g, int64_t ranks = 0) {
  return fused(g, ranks ? task::knownShapes(g.graph(), ranks) : task::Shapes()).kernel().ir();
}
bool has(const std::string &text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

TEST(KnownShapes, ExtentsThatDependOnNoNameAreKnown) {
  TaskGraph g("g");
  Value x = g.input("x[M,16]");
  Value y = g.task(thirds(), x);
  Value w = g.constant(Tensor::own(DType::f32, {5, 7}));
  g.task(affine(), w, 1.0);
  task::Shapes known = task::knownShapes(g.graph(), 1);
  EXPECT_EQ(known[0], (std::vector<int64_t>{kAny, 16}));
  EXPECT_EQ(known[1], (std::vector<int64_t>{kAny, 6}));
  EXPECT_EQ(known[2], (std::vector<int64_t>{5, 7}));
  EXPECT_EQ(known[3], (std::vector<int64_t>{5, 7}));
}

/// A quotient of two names is 1 where both are the same, and no constant for it.
TEST(KnownShapes, NamesDifferFromOneAnother) {
  Kernel blocks("blocks(x[M,N]) -> y[ceil(M/N),4]", [](In<f32>, Out<f32> Y) {
    auto y = Y.tiled(kTile, kTile);
    for (auto [i, j] : y.tiles())
      y(i, j) = zeros<f32>(kTile, kTile);
  });
  TaskGraph g("g");
  g.output(g.task(blocks, g.input("x[M,N]")));
  EXPECT_EQ(task::knownShapes(g.graph(), 1)[1], (std::vector<int64_t>{kAny, 4}));
}

/// A row cannot be cut for two ranks: nothing is known but what constants have.
TEST(KnownShapes, ShapesThatKernelsDoNotTakeAreNotAsked) {
  TaskGraph g("g");
  g.task(thirds(), g.input("x[M,16]"));
  Value w = g.constant(Tensor::own(DType::f32, {5, 7}));
  g.task(affine(), w, 1.0);
  task::Shapes known = task::knownShapes(g.graph(), 2);
  EXPECT_EQ(known[0], (std::vector<int64_t>{kAny, kAny}));
  EXPECT_EQ(known[1], (std::vector<int64_t>{kAny, kAny}));
  EXPECT_EQ(known[2], (std::vector<int64_t>{5, 7}));
}

TEST(KnownShapes, TheKernelSaysWhatIsKnown) {
  TaskGraph g("g");
  Value y = g.task(affine(), g.input("x[M,16]"), 1.0);
  g.output(g.task(affine(), y, 2.0));
  std::string any = irOf(g), known = irOf(g, 3);
  EXPECT_FALSE(has(any, "tile.known_extents")) << any;
  EXPECT_TRUE(has(known, "tile.known_extents = array<i64: -1, 16>")) << known;
  // Memory of the graph is dense; what a launch brings may be part of something.
  EXPECT_TRUE(has(known, "tile.dense")) << known;
  TaskGraph brought("g");
  brought.output(brought.task(affine(), brought.input("x[M,16]"), 1.0));
  EXPECT_FALSE(has(irOf(brought, 3), "tile.dense"));
}

/// Of launches, too, whose nodes may differ from one another.
TEST(KnownShapes, ATypeKnowsWhatAllOfItsNodesPass) {
  TaskGraph g("g");
  Value x = g.input("x[M,16]"), w = g.constant(Tensor::own(DType::f32, {5, 16}));
  Value y = g.task(affine(), x, 1.0);
  auto ofType = [&](const task::Shapes &known) {
    return task::graphArguments(g.graph(), 0, known);
  };
  auto extents = [&] {
    task::Shapes found;
    for (const GraphArgument &argument : ofType(task::knownShapes(g.graph(), 1)))
      found.push_back(argument.extents);
    return found;
  };
  auto dense = [&] {
    std::vector<bool> found;
    for (const GraphArgument &argument : ofType(task::knownShapes(g.graph(), 1)))
      found.push_back(argument.isDense);
    return found;
  };
  EXPECT_EQ(extents(), (task::Shapes{{kAny, 16}, {}, {kAny, 16}}));
  EXPECT_EQ(dense(), (std::vector<bool>{false, false, true}));
  g.task(affine(), w, 1.0);
  EXPECT_EQ(extents(), (task::Shapes{{kAny, 16}, {}, {kAny, 16}}));
  g.output(g.task(affine(), g.constant(Tensor::own(DType::f32, {5, 8})), 1.0));
  EXPECT_EQ(extents(), (task::Shapes{{kAny, kAny}, {}, {kAny, kAny}}));
  EXPECT_EQ(dense(), (std::vector<bool>{false, false, false}));
  g.task(affine(), y, 1.0);
  for (const GraphArgument &argument : ofType({}))
    EXPECT_EQ(argument, GraphArgument());
}

/// What tiles of one node read of a tensor that they update was there before the launch. What another node reads was not,
/// nor what a loop reads behind what it wrote before.
TEST(KnownShapes, WhatOneNodeUpdatesWasThereBefore) {
  TaskGraph g("g");
  Value table = g.constant(Tensor::own(DType::f32, {5, 16}));
  g.task(accumulate(), g.input("y[5,16]"), inOut(table));
  EXPECT_TRUE(has(irOf(g), "tile.prior"));
  g.output(g.task(affine(), table, 1.0));
  EXPECT_TRUE(has(irOf(g), "tile.lasting"));
  EXPECT_FALSE(has(irOf(g), "tile.prior"));
  Kernel fibonacci("fibonacci() -> x[M,N]", [](InOut<f32> X) {
    for (auto i : range(X.rows() - 2))
      X.slice(0, i + 2, 1).tiled(1, kTile)(0, 0) =
          X.slice(0, i, 1).tiled(1, kTile)(0, 0) + X.slice(0, i + 1, 1).tiled(1, kTile)(0, 0);
  });
  TaskGraph loop("loop");
  loop.task(fibonacci, inOut(loop.constant(Tensor::own(DType::f32, {5, 4}))));
  EXPECT_TRUE(has(irOf(loop), "tile.lasting"));
  EXPECT_FALSE(has(irOf(loop), "tile.prior"));
}

TEST(KnownShapes, ANumberThatAllNodesPassIsAConstant) {
  auto loadsOf = [](double first, double second) {
    TaskGraph g("g");
    Value y = g.task(affine(), g.input("x[M,N]"), first);
    g.output(g.task(affine(), y, second));
    std::string text = irOf(g);
    size_t loads = 0;
    for (size_t at = text.find("memref.load"); at != std::string::npos;
         at = text.find("memref.load", at + 1))
      ++loads;
    return loads;
  };
  EXPECT_EQ(loadsOf(1.0, 1.0) + 1, loadsOf(1.0, 2.0));
}

TEST(KnownShapes, OtherShapesAreRefused) {
  TaskGraph g("g");
  g.output(g.task(affine(), g.input("x[M,16]"), 1.0));
  task::FusedKernel kernel = fused(g, task::knownShapes(g.graph(), 1));
  EXPECT_NO_THROW(kernel.requireShapes({{3, 16}, {3, 16}}));
  EXPECT_THROW(kernel.requireShapes({{3, 16}, {3, 15}}), InternalError);
}

} // namespace
} // namespace ditron
