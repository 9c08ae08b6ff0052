// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs of tasks mean what launches one by one mean: bit for bit, on any number of cores.
#include "ditron/checker/CheckGraph.h"
#include "ditron/driver/Context.h"
#include "ditron/kernels/kernels.h"
#include "ditron/support/Error.h"
#include "ditron/task/Fuse.h"
#include "test/unit/task/GraphKernels.h"
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace ditron {
namespace {

using namespace testing_graphs;

template <class T> Tensor randomTensorOf(std::vector<int64_t> shape, unsigned seed) {
  Tensor host = Tensor::own(DTypeOf<T>::value, std::move(shape));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int64_t n = 0; n < host.elements(); ++n)
    host.as<T>()[n] = T(uniform(random));
  return host;
}

/// Of f32, or of bf16.
Tensor randomTensor(const std::vector<int64_t> &shape, unsigned seed, DType type = DType::f32) {
  return type == DType::bf16 ? randomTensorOf<bf16>(shape, seed) : randomTensorOf<f32>(shape, seed);
}

/// What a graph leaves in its tensors after `launches` launches: each is made anew from the seed.
std::vector<Tensor> resultsOf(const TaskGraph &graph, Mode mode, int cores,
                              const std::vector<std::vector<int64_t>> &shapes, int launches = 2,
                              DType type = DType::f32) {
  Context ctx = Context::init({.cores = cores});
  std::vector<Tensor> tensors;
  for (size_t n = 0; n < shapes.size(); ++n)
    tensors.push_back(ctx.tensorFrom(randomTensor(shapes[n], unsigned(n), type)));
  TaskProgram program = ctx.compile(graph, {.mode = mode});
  for (int launch = 0; launch < launches; ++launch)
    program.launch(tensors);
  std::vector<Tensor> results;
  for (const Tensor &tensor : tensors)
    results.push_back(tensor.toHost());
  return results;
}

void expectSameBits(const TaskGraph &graph, const std::vector<std::vector<int64_t>> &shapes,
                    const std::vector<int> &cores = {1, 2, 8}, DType type = DType::f32) {
  std::vector<Tensor> expected = resultsOf(graph, Mode::stream, 2, shapes, 2, type);
  auto compare = [&](Mode mode, int count) {
    std::vector<Tensor> found = resultsOf(graph, mode, count, shapes, 2, type);
    for (size_t n = 0; n < found.size(); ++n)
      EXPECT_EQ(0, std::memcmp(found[n].data(), expected[n].data(), expected[n].bytes()))
          << graph.name() << ": tensor " << n << " on " << count << " cores";
  };
  compare(Mode::graph, 2);
  std::set<int> tried; // a GPU has as many as it has
  for (int count : cores)
    if (tried.insert(Context::init({.cores = count}).cores()).second)
      compare(Mode::megakernel, count);
}

/// Clean, and no edge is one that is not needed.
void expectProved(const TaskGraph &graph, const Dimensions &shape, int64_t cores = 2) {
  GraphCheckOptions options{.cores = cores, .shape = shape};
  Verdict verdict = check(graph, options);
  EXPECT_TRUE(verdict.clean()) << verdict.text();
  EXPECT_EQ(verdict.method, Method::proved);
}

/// x -> a -> (b, c) -> d, and d needs a too: a is a fork, d a join.
TaskGraph diamond() {
  TaskGraph g("diamond");
  Value x = g.input("x[M,N]");
  Value a = g.task(affine(), x, 0.5), b = g.task(affine(), a, 1.0), c = g.task(centre(), a);
  Value d = g.task(blend(), b, c);
  g.output(g.task(blend(), d, a));
  return g;
}

TEST(TaskGraphs, DiamondsAreTheSameInEveryMode) {
  expectSameBits(diamond(), {{13, 22}, {13, 22}});
  expectSameBits(diamond(), {{1, 1}, {1, 1}});
  expectSameBits(diamond(), {{64, 64}, {64, 64}});
  expectProved(diamond(), {{"M", 9}, {"N", 10}});
  expectProved(diamond(), {{"M", 9}, {"N", 10}}, 3);
}

TaskGraph forkJoin() {
  TaskGraph g("fork-join");
  Value x = g.input("x[M,M]"), y = g.input("y[M,M]");
  Value joined = g.task(blend(), x, y); // a join consumer, and the producer of a fork
  Value left = g.task(square(), joined), right = g.task(centre(), joined);
  Value both = g.task(blend(), left, right); // a join consumer of that fork
  g.output(both);
  g.output(g.task(square(), both));
  return g;
}

TEST(TaskGraphs, AJoinConsumerMayFork) {
  TaskGraph g = forkJoin();
  expectSameBits(g, {{14, 14}, {14, 14}, {14, 14}, {14, 14}});
  expectProved(g, {{"M", 9}});
}

TEST(TaskGraphs, AnOutputMayBeUpdatedInPlace) {
  TaskGraph g("in-place");
  Value x = g.input("x[M,N]");
  Value y = g.task(affine(), x, 1.0);
  g.output(y);
  g.task(accumulate(), x, inOut(y));
  Value z = g.task(centre(), y);
  g.task(accumulate(), z, inOut(y)); // write after read: z's tasks have to have read y
  g.task(accumulate(), y, inOut(x)); // of an input
  expectSameBits(g, {{11, 9}, {11, 9}});
  expectProved(g, {{"M", 9}, {"N", 10}});
}

/// On GPUs a launch begins early: behind a long one, and a short one of other tensors.
TEST(TaskGraphs, ALaunchSeesWhatTheOneBeforeTheLastWrites) {
  TaskGraph g("two-before");
  Value x = g.input("x[M,M]"), y = g.input("y[N,N]");
  Value product = g.task(square(), x);
  g.output(g.task(affine(), y, 1.0));
  g.output(g.task(centre(), product));
  expectSameBits(g, {{20, 20}, {3, 3}, {3, 3}, {20, 20}});
}

TEST(TaskGraphs, ConstantsAreThoseThatNoNodeWrites) {
  using Flags = std::vector<bool>;
  TaskGraph g("constants");
  auto flags = [&](size_t type, bool GraphArgument::*flag) {
    Flags found;
    for (const GraphArgument &argument : task::graphArguments(g.graph(), type, {}))
      found.push_back(argument.*flag);
    return found;
  };
  auto constants = [&](size_t type) { return flags(type, &GraphArgument::isConstant); };
  auto lasting = [&](size_t type) { return flags(type, &GraphArgument::isLasting); };
  Value x = g.input("x[2,3]"), weights = g.constant(randomTensor({2, 3}, 1));
  Value cache = g.constant(randomTensor({2, 3}, 2)), state = g.input("state[2,3]");
  Value y = g.task(blend(), x, weights);
  EXPECT_EQ(constants(0), Flags({true, true, false}));
  g.task(accumulate(), weights, inOut(cache));
  EXPECT_EQ(constants(1), Flags({true, false}));
  EXPECT_EQ(lasting(1), Flags({false, true}));
  g.task(accumulate(), y, inOut(state)); // not all nodes of the type pass a constant
  EXPECT_EQ(constants(1), Flags({false, false}));
  EXPECT_EQ(lasting(1), Flags({false, false}));
  g.output(g.task(blend(), state, cache)); // which are written
  EXPECT_EQ(constants(0), Flags({false, false, false}));
  EXPECT_EQ(lasting(0), Flags({false, false, false}));
}

TEST(TaskGraphs, RowsAppendedAtRunTimeAreSeen) {
  Context ctx = Context::init({.cores = 2});
  auto run = [&](Mode mode) {
    TaskGraph g("cache");
    Value x = g.input("x[M,N]"), at = g.input("at[1]", DType::i32), table = g.input("table[S,N]");
    g.task(append(), x, at, inOut(table));
    g.output(g.task(centre(), table));
    TaskProgram step = ctx.compile(g, {.mode = mode});
    Tensor x0 = ctx.tensorFrom(randomTensor({5, 6}, 1)),
           table0 = ctx.tensorFrom(randomTensor({7, 6}, 2));
    Tensor at0 = ctx.tensor<i32>({1}), y = ctx.tensor<f32>({7, 6});
    for (int position : {0, 3, 6}) {
      Tensor host = Tensor::own(DType::i32, {1});
      host.as<i32>()[0] = position;
      at0.copyFrom(host);
      step(x0, at0, table0, y);
    }
    return y.toHost();
  };
  Tensor stream = run(Mode::stream), fused = run(Mode::megakernel);
  EXPECT_EQ(0, std::memcmp(stream.data(), fused.data(), stream.bytes()));
}

TEST(TaskGraphs, KernelsDealtByHandAreTakenAsAWhole) {
  TaskGraph g("whole");
  Value x = g.input("x[M,N]");
  Value y = g.task(byHand(), g.task(affine(), x, 0.25));
  g.output(g.task(centre(), y));
  expectSameBits(g, {{13, 10}, {13, 10}});
  expectProved(g, {{"M", 9}, {"N", 10}});
}

TEST(TaskGraphs, ChainsOfAThousand) {
  TaskGraph g("chain");
  Value x = g.input("x[M,N]");
  for (int n = 0; n < 1000; ++n)
    x = n % 2 ? g.task(affine(), x, -0.5) : g.task(blend(), x, x);
  g.output(x);
  EXPECT_EQ(g.graph().types.size(), 2u);
  expectSameBits(g, {{6, 10}, {6, 10}}, {2, 8});
}

TEST(TaskGraphs, TenThousandTasks) {
  TaskGraph g("many");
  Value x = g.input("x[M,N]");
  std::vector<Value> lines(10, x);
  for (int n = 0; n < 5000; ++n) // of two tasks each
    lines[n % 10] = g.task(blend(), lines[n % 10], lines[(n + 3) % 10]);
  for (Value line : lines)
    g.output(line);
  std::vector<std::vector<int64_t>> shapes(11, {4, 8});
  expectSameBits(g, shapes, {2});
}

TEST(TaskGraphs, EmptyGraphsDoNothing) {
  TaskGraph g("empty");
  g.input("x[M,N]");
  expectSameBits(g, {{3, 4}});
  TaskGraph none("none");
  expectSameBits(none, {});
}

/// x -> W0 x -> W1 W0 x ..., of a row x: rows of W come in parts of 2 KB.
TaskGraph products(int layers, DType type, const kernels::GemvConfig &config) {
  TaskGraph g("products");
  Value x = g.input("x[B,K0]", type);
  for (int layer = 0; layer < layers; ++layer) {
    Value W = g.input("W" + std::to_string(layer) + "[K" + std::to_string(layer + 1) + ",K" +
                          std::to_string(layer) + "]",
                      type);
    x = g.task(kernels::gemv(type, config), x, W);
  }
  g.output(x);
  return g;
}

/// Those of four products of B rows of x.
std::vector<std::vector<int64_t>> shapesOfProducts(int64_t B, int64_t wide, int64_t narrow) {
  std::vector<std::vector<int64_t>> shapes{{B, wide}};
  for (int layer = 0; layer < 4; ++layer)
    shapes.push_back(layer % 2 ? std::vector{wide, narrow} : std::vector{narrow, wide});
  shapes.push_back({B, wide});
  return shapes;
}

TEST(TaskGraphs, WeightsOfLongRows) {
  kernels::GemvConfig config{.m = 1, .n = 4, .k = 512, .byElements = true};
  expectSameBits(products(4, DType::f32, config), shapesOfProducts(1, 520, 48));
}

/// Few rows of x by rows of W in bf16, whose terms the warps of a GPU share.
TEST(TaskGraphs, WeightsOfLongRowsOnTensorCores) {
  for (int rows : {1, 2, 4, 8}) {
    kernels::GemvConfig config{.m = rows, .n = 16, .k = 1024, .isLong = true};
    TaskGraph graph = products(4, DType::bf16, config);
    expectSameBits(graph, shapesOfProducts(rows, 1032, 40), {8}, DType::bf16);
  }
}

/// The same by blocks of 8 rows by 32 terms, which the rows of a tile share or not, and tiles that end behind them.
TEST(TaskGraphs, WeightsInBlocks) {
  for (auto [rows, n, k] :
       {std::tuple(1, 8, 2048), std::tuple(2, 16, 1024), std::tuple(8, 16, 1024)}) {
    kernels::GemvConfig config{
        .m = rows, .n = n, .k = k, .isLong = true, .format = kernels::WeightFormat::blocked};
    TaskGraph g("products");
    Value x = g.input("x[B,32*G0]", DType::bf16);
    for (const char *W : {"W0[G1*4,G0,8,32]", "W1[G2*4,G1,8,32]", "W2[J,G2,8,32]"})
      x = g.task(kernels::gemv(DType::bf16, config), x, g.input(W, DType::bf16));
    g.output(x);
    expectSameBits(g, {{rows, 1056}, {12, 33, 8, 32}, {132, 3, 8, 32}, {5, 33, 8, 32}, {rows, 40}},
                   {8}, DType::bf16);
  }
}

/// Tiles of blocks beside tiles of rows, which are larger, in one ring.
TEST(TaskGraphs, WeightsInBlocksBesideRows) {
  kernels::GemvConfig rows{.m = 1, .n = 16, .k = 1024, .isLong = true}, blocks = rows;
  blocks.format = kernels::WeightFormat::blocked;
  TaskGraph g("products");
  Value x = g.input("x[1,32*G0]", DType::bf16);
  Value y = g.task(kernels::gemv(DType::bf16, blocks), x, g.input("A[J,G0,8,32]", DType::bf16));
  g.output(g.task(kernels::gemv(DType::bf16, rows), y, g.input("B[N,8*J]", DType::bf16)));
  expectSameBits(g, {{1, 1056}, {130, 33, 8, 32}, {40, 1040}, {1, 40}}, {8}, DType::bf16);
}

/// Few rows of x by two matrices, which the graph is given as constants or with each launch.
TaskGraph twoProducts(const Tensor *W0, const Tensor *W1) {
  kernels::GemvConfig config{.m = 8, .n = 64, .k = 64};
  TaskGraph g("two-products");
  Value x = g.input("x[B,K]", DType::bf16);
  auto matrix = [&](const Tensor *W, const char *text) {
    return W ? g.constant(*W) : g.input(text, DType::bf16);
  };
  Value first = matrix(W0, "W0[N,K]"), second = matrix(W1, "W1[K,N]");
  Kernel product = kernels::gemv(DType::bf16, config);
  g.output(g.task(product, g.task(product, x, first), second));
  return g;
}

/// A GPU may load constants while launches in front still run: each launch has those of its time.
TEST(TaskGraphs, ConstantsAreThoseOfTheTimeOfALaunch) {
  constexpr int64_t kRows = 8, kDepth = 1032, kWidth = 200;
  Context ctx = Context::init({.cores = 2});
  auto tensor = [&](std::vector<int64_t> shape) {
    return ctx.tensorFrom(randomTensor(shape, 1, DType::bf16));
  };
  Tensor x = tensor({kRows, kDepth}), W0 = tensor({kWidth, kDepth}), W1 = tensor({kDepth, kWidth});
  Tensor expected = tensor({kRows, kDepth}), found = tensor({kRows, kDepth});
  TaskProgram given = ctx.compile(twoProducts(nullptr, nullptr), {.mode = Mode::stream});
  for (Mode mode : {Mode::stream, Mode::graph}) {
    TaskProgram program = ctx.compile(twoProducts(&W0, &W1), {.mode = mode});
    for (unsigned launch = 0; launch < 3; ++launch) {
      W0.copyFrom(randomTensor(W0.shape(), 10 + launch, DType::bf16));
      W1.copyFrom(randomTensor(W1.shape(), 20 + launch, DType::bf16));
      given(x, W0, W1, expected);
      program(x, found);
      ctx.sync();
      EXPECT_EQ(0, std::memcmp(found.toHost().data(), expected.toHost().data(), found.bytes()));
    }
  }
}

/// Products of a row x, and between them a task that ends the launch unless number + 1 is above 0.
TaskGraph guardedProducts() {
  kernels::GemvConfig config{.m = 1, .n = 4, .k = 512, .byElements = true};
  Kernel product = kernels::gemv(DType::f32, config);
  TaskGraph g("guarded-products");
  Value x = g.input("x[B,K]"), W = g.input("W[K,K]"), number = g.input("number[1]", DType::i32);
  Value y = g.task(guarded(), g.task(product, x, W), g.task(next(), number));
  g.output(g.task(product, y, W)); // which is on its way while the one before it ends
  return g;
}

/// The error of a launch that is given -1, behind one that is given 0.
std::string errorOfRequirement(Mode mode) {
  Context ctx = Context::init({.cores = 2});
  Tensor x = ctx.tensorFrom(randomTensor({1, 520}, 1)),
         W = ctx.tensorFrom(randomTensor({520, 520}, 2));
  Tensor number = ctx.tensor<i32>({1}), y = ctx.tensor<f32>({1, 520});
  TaskProgram step = ctx.compile(guardedProducts(), {.mode = mode});
  for (int32_t given : {0, -1})
    try {
      Tensor host = Tensor::own(DType::i32, {1});
      host.as<i32>()[0] = given;
      number.copyFrom(host);
      step(x, W, number, y);
      ctx.sync();
    } catch (const Error &error) {
      return std::to_string(given) + ": " + error.what();
    }
  return "no error";
}

TEST(TaskGraphs, ARequirementEndsWhatStreamsWeights) {
  for (Mode mode : {Mode::stream, Mode::graph, Mode::megakernel}) {
    std::string error = errorOfRequirement(mode);
    EXPECT_EQ(error.find("-1: "), 0u) << error;
    EXPECT_NE(error.find("the number is 0, expected 1 or more"), std::string::npos) << error;
  }
}

/// Weights in a ring, and products on tensor cores with rings of their own, share the memory of a core.
TEST(TaskGraphs, LongRowsBesideProductsOfTiles) {
  kernels::GemvConfig rows{.m = 1, .n = 4, .k = 512, .byElements = true};
  TaskGraph g("mixed");
  Value x = g.input("x[B,K]"), W = g.input("W[K,K]");
  Value y = g.task(kernels::gemv(DType::f32, rows), x, W);
  kernels::GemmConfig tiles{{64, 64, 64}};
  Value square = g.input("A[N,N]");
  g.output(g.task(kernels::gemm(DType::f32, tiles), square, square));
  g.output(y);
  expectSameBits(g, {{1, 520}, {520, 520}, {96, 96}, {96, 96}, {1, 520}}, {2});
}

TEST(TaskGraphs, TensorsWithoutElements) { expectSameBits(diamond(), {{0, 5}, {0, 5}}); }

TEST(TaskGraphs, RandomGraphs) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    std::mt19937 random(seed);
    TaskGraph g("random");
    std::vector<Value> values = {g.input("x[M,M]"), g.input("y[M,M]")};
    auto any = [&] { return values[random() % values.size()]; };
    for (int n = 0; n < 25; ++n)
      switch (random() % 6) {
      case 0:
        values.push_back(g.task(affine(), any(), double(random() % 8) / 8));
        break;
      case 1:
        values.push_back(g.task(blend(), any(), any()));
        break;
      case 2:
        values.push_back(g.task(centre(), any()));
        break;
      case 3:
        values.push_back(g.task(square(), any()));
        break;
      case 4:
        values.push_back(g.task(byHand(), any()));
        break;
      default:
        Value from = any(), to = any();
        if (from.number() != to.number())
          g.task(accumulate(), from, inOut(to));
      }
    Value last = g.task(affine(), values.back(), 0.0);
    g.output(last);
    auto size = int64_t(1 + random() % 18);
    expectSameBits(g, {{size, size}, {size, size}, {size, size}}, {1, 2, 3});
    expectProved(g, {{"M", 9}}, 2 + seed % 2);
  }
}

TEST(TaskGraphs, MemoryOfFewShapesIsKept) {
  Context ctx = Context::init({.cores = 2});
  TaskGraph g = diamond();
  TaskProgram step = ctx.compile(g);
  // More shapes than are kept, twice, without waiting for one.
  std::vector<Tensor> inputs, results;
  for (int round = 0; round < 2; ++round)
    for (int64_t rows = 1; rows <= int64_t(TaskProgram::kMostShapes) + 4; ++rows) {
      Tensor x = ctx.tensorFrom(randomTensor({rows, 6}, 1)), y = ctx.tensor<f32>({rows, 6});
      step(x, y);
      inputs.push_back(x);
      results.push_back(y);
    }
  ctx.sync();
  size_t half = results.size() / 2;
  for (size_t n = 0; n < half; ++n)
    EXPECT_EQ(0, std::memcmp(results[n].toHost().data(), results[half + n].toHost().data(),
                             results[n].bytes()));
}

//===-- Several ranks -------------------------------------------------------------------------===//

/// Layers of a tensor-parallel program: each rank computes its summands, which are summed.
TaskGraph layersOfRanks(int layers) {
  TaskGraph g("layers");
  Value x = g.input("x[M,N]");
  for (int layer = 0; layer < layers; ++layer) {
    Value y = g.task(affine(), x, 0.25 * layer);
    Value sum = g.task(kernels::allReduce(DType::f32), y);
    x = g.task(centre(), sum);
  }
  g.output(x);
  return g;
}

/// The same, with tiles in inboxes.
TaskGraph layersOfInboxes(int layers) {
  TaskGraph g("layers");
  Value x = g.input("x[M,N]");
  for (int layer = 0; layer < layers; ++layer)
    x = g.task(centre(), g.task(sumOfRanks(), g.task(affine(), x, 0.25 * layer)));
  g.output(x);
  return g;
}

/// What each rank has after launches of the graph.
std::vector<Tensor> resultsOfRanks(const TaskGraph &graph, int ranks, int launches, Mode mode) {
  std::vector<Tensor> results(static_cast<size_t>(ranks));
  runRanks({.ranks = ranks, .cores = 2}, [&](Context &ctx) {
    Tensor x = ctx.tensorFrom(randomTensor({9, 10}, unsigned(ctx.rank())));
    Tensor y = ctx.tensor<f32>({9, 10});
    TaskProgram step = ctx.compile(graph, {.mode = mode});
    step.prepare({x, y}); // loading code may wait for what other ranks have launched
    ctx.barrier();
    for (int launch = 0; launch < launches; ++launch) {
      step(x, y);
      step(y, x);
    }
    results[static_cast<size_t>(ctx.rank())] = x.toHost();
  });
  return results;
}

void expectSameSums(const TaskGraph &graph, int ranks, int launches) {
  std::vector<Tensor> stream = resultsOfRanks(graph, ranks, launches, Mode::stream);
  std::vector<Tensor> fused = resultsOfRanks(graph, ranks, launches, Mode::megakernel);
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(0, std::memcmp(stream[rank].data(), fused[rank].data(), stream[rank].bytes()))
        << "rank " << rank << " of " << ranks;
}

TEST(TaskGraphs, RanksSumInsideOfTheKernel) {
  for (int ranks : {1, 2, 3})
    expectSameSums(layersOfRanks(4), ranks, 5);
}

TEST(TaskGraphs, TwoRanksSumInsideOfASmallKernel) { expectSameSums(layersOfRanks(2), 2, 2); }

TEST(TaskGraphs, RanksSumByInboxes) {
  for (int ranks : {1, 2, 3})
    expectSameSums(layersOfInboxes(2), ranks, 2);
}

/// Inboxes of a kernel stay inboxes, and order nothing else, unless a node reads what it writes.
TEST(TaskGraphs, InboxesOrderTheirTilesAlone) {
  auto textOf = [](const TaskGraph &g) {
    const task::Graph &data = g.graph();
    std::vector<task::Footprint> footprints(data.types.begin(), data.types.end());
    return task::FusedKernel(data, footprints).kernel().ir();
  };
  auto count = [](const std::string &text, std::string_view word) {
    size_t found = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
      ++found;
    return found;
  };
  std::string apart = textOf(layersOfInboxes(2));
  EXPECT_EQ(count(apart, "dist.inbox \""), 1u);
  EXPECT_EQ(count(apart, "dist.unordered"), 2u); // a send and a receive
  TaskGraph g("in-place");
  Value x = g.input("x[M,N]");
  g.task(sumOfRanks().inPlace("y", "x"), x, inOut(x));
  std::string inPlace = textOf(g);
  EXPECT_EQ(count(inPlace, "dist.inbox \""), 1u);
  EXPECT_EQ(count(inPlace, "dist.unordered"), 0u);
  GraphCheckOptions options{.ranks = 2, .cores = 2, .shape = {{"M", 9}, {"N", 5}}};
  EXPECT_TRUE(check(layersOfInboxes(2), options).clean());
}

TEST(TaskGraphs, GraphsOfSeveralRanksAreProved) {
  GraphCheckOptions options{.ranks = 2, .cores = 2, .shape = {{"M", 9}, {"N", 5}}};
  Verdict verdict = check(layersOfRanks(2), options);
  EXPECT_TRUE(verdict.clean()) << verdict.text();
  EXPECT_EQ(verdict.method, Method::proved);
}

TEST(TaskGraphs, EveryShortenedEdgeIsFound) {
  for (const TaskGraph &g : {diamond(), forkJoin()}) {
    std::vector<Mutant> mutants = mutate(g, {.cores = 2, .shape = {{"M", 9}, {"N", 9}}});
    EXPECT_GE(mutants.size(), 3u);
    for (const Mutant &mutant : mutants)
      EXPECT_EQ(mutant.outcome, Mutant::Outcome::killed) << mutant.source << ": " << mutant.what;
  }
}

/// Eight cores, each of which reads what all wrote: they wait for the node as a whole.
TEST(TaskGraphs, ManyWaitsBecomeOneForTheNode) {
  TaskGraph g("squares");
  g.output(g.task(square(), g.task(square(), g.input("x[M,M]"))));
  GraphCheckOptions options{.cores = 8, .shape = {{"M", 32}}};
  Verdict verdict = check(g, options);
  EXPECT_TRUE(verdict.clean()) << verdict.text();
  std::vector<Mutant> mutants = mutate(g, options);
  EXPECT_EQ(mutants.size(), 8u); // one wait a task
  for (const Mutant &mutant : mutants) {
    EXPECT_EQ(mutant.outcome, Mutant::Outcome::killed) << mutant.source << ": " << mutant.what;
    EXPECT_NE(mutant.what.find("wait for 7 tasks of '"), std::string::npos) << mutant.what;
  }
}

} // namespace
} // namespace ditron
