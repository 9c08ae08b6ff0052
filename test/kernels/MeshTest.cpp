// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel for a mesh of node x local ranks: interpreter, CPU and checker have one view of the
// axes.
#include "ditron/checker/Check.h"
#include "ditron/driver/Context.h"
#include "ditron/lang/Dist.h"
#include "ditron/lang/Trace.h"
#include "ditron/reference/Interpreter.h"
#include "ditron/support/Error.h"
#include <gtest/gtest.h>

using namespace ditron;

namespace {

constexpr int64_t kSize = 70; // not a multiple of the tile

/// Every rank gets the x of all: first from the ranks at its own place on every node, then these
/// hand on what they got to the ranks of their node, so that each x goes once to each node.
Kernel gatherByNode() {
  return Kernel("gather-by-node(x[N]) -> y[R*N]", [](In<f32, 1> x, Out<f32, 1> y) {
    auto landed = symmetric<f32>({numRanks(Mesh::node), x.size()}, "landed");
    auto all = symmetric<f32>({numRanks(), x.size()}, "all");
    auto here = signals(numRanks(Mesh::node), "here"), done = signals(numRanks(), "done");
    auto ys = y.split(numRanks());

    for (auto peer : ranks(Mesh::node)) {
      put(x, landed.on(peer).at(rank(Mesh::node)));
      notify(here.on(peer)(rank(Mesh::node)));
    }
    for (auto node : range(numRanks(Mesh::node))) {
      Index from = rankAt(Mesh::node, node);
      wait(here(node), 1);
      for (auto peer : ranks(Mesh::local)) {
        put(landed.at(node), all.on(peer).at(from));
        notify(done.on(peer)(from));
      }
    }
    for (auto r : range(numRanks())) {
      wait(done(r), 1);
      for (auto i : range(ceilDiv(x.size(), 16)))
        ys.at(r).tiled(16)(i) = all.at(r).tiled(16)(i);
    }
  });
}

/// rank and number of ranks, along all axes.
Kernel places() {
  return Kernel("places() -> y[6]", [](Out<i32, 1> y) {
    auto store = [&](int at, Index value) { y.tiled(1)(at) = cast<i32>(toTile(value)); };
    store(0, rank());
    store(1, numRanks());
    store(2, rank(Mesh::node));
    store(3, numRanks(Mesh::node));
    store(4, rank(Mesh::local));
    store(5, numRanks(Mesh::local));
  });
}

double valueOf(int64_t rank, int64_t i) { return double(1000 * rank + i); }

mlir::func::FuncOp functionOf(const Kernel &kernel) {
  return *kernel.traced().module.get().getOps<mlir::func::FuncOp>().begin();
}

class MeshTest : public testing::TestWithParam<runtime::MeshShape> {
protected:
  runtime::MeshShape mesh() const { return GetParam(); }
  int ranks() const { return mesh().nodes * mesh().local; }
  Options options() const {
    return {.ranks = ranks(), .cores = 1, .mesh = {mesh().nodes, mesh().local}};
  }
};

TEST_P(MeshTest, PlacesOnACpu) {
  runRanks(options(), [&](Context &ctx) {
    Tensor y = ctx.tensor<i32>({6});
    ctx.compile(places())(y);
    ctx.sync();
    int64_t expected[] = {
        ctx.rank(),  ranks(), ctx.rank() / mesh().local, mesh().nodes, ctx.rank() % mesh().local,
        mesh().local};
    for (int64_t n = 0; n < 6; ++n)
      EXPECT_EQ(y.at({n}), double(expected[n])) << "place " << n << " of rank " << ctx.rank();
  });
}

TEST_P(MeshTest, GathersOnACpu) {
  runRanks(options(), [&](Context &ctx) {
    Tensor x = ctx.tensor<f32>({kSize}), y = ctx.tensor<f32>({ranks() * kSize});
    for (int64_t i = 0; i < kSize; ++i)
      x.set({i}, valueOf(ctx.rank(), i));
    auto run = ctx.compile(gatherByNode());
    for (int repeat = 0; repeat < 3; ++repeat)
      run(x, y);
    ctx.sync();
    for (int64_t n = 0; n < ranks() * kSize; ++n)
      ASSERT_EQ(y.at({n}), valueOf(n / kSize, n % kSize)) << "element " << n;
  });
}

TEST_P(MeshTest, GathersInTheInterpreter) {
  std::vector<std::vector<float>> x, y;
  std::vector<std::vector<reference::ArgumentValue>> arguments;
  for (int64_t rank = 0; rank < ranks(); ++rank) {
    auto &in = x.emplace_back();
    for (int64_t i = 0; i < kSize; ++i)
      in.push_back(float(valueOf(rank, i)));
    y.emplace_back(size_t(ranks() * kSize), -1.0f);
  }
  for (int64_t rank = 0; rank < ranks(); ++rank)
    arguments.push_back(
        {reference::ArgumentMemory{x[size_t(rank)].data(), DType::f32, {kSize}, {1}},
         reference::ArgumentMemory{y[size_t(rank)].data(), DType::f32, {ranks() * kSize}, {1}}});
  reference::Options options;
  options.ranks = ranks();
  options.nodes = mesh().nodes;
  Kernel kernel = gatherByNode();
  reference::interpret(functionOf(kernel), arguments, options);
  for (int64_t n = 0; n < ranks() * kSize; ++n)
    for (int64_t rank = 0; rank < ranks(); ++rank)
      ASSERT_EQ(y[size_t(rank)][size_t(n)], float(valueOf(n / kSize, n % kSize)));
}

TEST_P(MeshTest, IsClean) {
  CheckOptions options;
  options.ranks = ranks();
  options.cores = 1;
  options.nodes = mesh().nodes;
  options.shape = {{"N", 20}};
  Verdict verdict = check(gatherByNode(), options);
  EXPECT_TRUE(verdict.clean()) << (verdict.findings.empty() ? "" : verdict.findings[0].message);
}

INSTANTIATE_TEST_SUITE_P(Shapes, MeshTest,
                         testing::Values(runtime::MeshShape{2, 2}, runtime::MeshShape{1, 4},
                                         runtime::MeshShape{3, 2}, runtime::MeshShape{2, 3},
                                         runtime::MeshShape{4, 1}),
                         [](const auto &info) {
                           return std::to_string(info.param.nodes) + "x" +
                                  std::to_string(info.param.local);
                         });

static_assert(!std::is_constructible_v<Mesh, std::nullptr_t>); // which is no name

TEST(Mesh, RefusesRanksThatDoNotFit) {
  Options options{.ranks = 4, .mesh = {3, 0}};
  try {
    runRanks(options, [](Context &) {});
    FAIL() << "no error";
  } catch (const UsageError &error) {
    EXPECT_STREQ(error.what(),
                 "the mesh is node=3, but there are 4 ranks: expected node times local of them");
  }
}

TEST(Mesh, RefusesAPlaceThatIsNotThere) {
  Kernel kernel("beyond() -> y[1]",
                [](Out<i32, 1> y) { y.tiled(1)(0) = cast<i32>(toTile(rankAt(Mesh::local, 2))); });
  try {
    runRanks({.ranks = 4, .mesh = {2, 2}}, [&](Context &ctx) {
      Tensor y = ctx.tensor<i32>({1});
      ctx.compile(kernel)(y);
      ctx.sync();
    });
    FAIL() << "no error";
  } catch (const CompileError &error) {
    EXPECT_NE(std::string(error.what()).find("rankAt: names place 2 of 2 along axis local"),
              std::string::npos)
        << error.what();
  }
}

} // namespace
