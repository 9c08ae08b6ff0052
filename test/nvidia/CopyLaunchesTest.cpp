// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of kernels with copy engines on the emulated driver, which counts the calls that enqueue
// something: step by step, as graphs, and captured.
#include "StreamCalls.h"
#include "ditron/interop/Cuda.h"
#include "ditron/kernels/kernels.h"
#include "ditron/runtime/Rank.h"
#include "ditron/runtime/nvidia/LaunchGraphs.h"
#include "ditron/support/Error.h"
#include <dlfcn.h>

namespace ditron {
namespace {

using runtime::nvidia::LaunchGraphs;

constexpr int kRanks = 2;
constexpr int64_t kRows = 12, kColumns = 8;

uint64_t calls() {
  static void *library = dlopen("libcuda.so.1", RTLD_NOW);
  static auto *count = reinterpret_cast<uint64_t (*)()>(dlsym(library, "emulatedCalls"));
  return count();
}

/// The calls of a launch on each rank; all ranks have launched when it returns.
uint64_t callsOf(const Context &ctx, const std::function<void()> &launch) {
  ctx.sync();
  ctx.assemble();
  uint64_t before = calls();
  ctx.runtimeRank().barrier();
  launch();
  ctx.runtimeRank().barrier();
  uint64_t made = calls() - before;
  ctx.runtimeRank().barrier();
  return made / kRanks;
}

kernels::TransferConfig inChunks(int chunks) {
  return {{.rows = 2, .columns = int(kColumns)},
          /*copyEngines=*/true,
          kernels::Protocol::simple,
          chunks};
}

Tensor numbersOf(const Context &ctx, double more = 0) {
  Tensor host = Tensor::own(DType::f32, {kRows, kColumns});
  for (int64_t n = 0; n < kRows * kColumns; ++n)
    host.set({n / kColumns, n % kColumns}, double(1000 * ctx.rank() + n) + more);
  return ctx.tensorFrom(host);
}

void expectGathered(const Tensor &y, double more = 0) {
  Tensor host = y.toHost();
  for (int64_t row = 0; row < kRanks * kRows; ++row)
    for (int64_t column = 0; column < kColumns; ++column)
      ASSERT_EQ(host.at({row, column}),
                double(1000 * (row / kRows) + row % kRows * kColumns + column) + more);
}

void onRanks(const std::function<void(Context &)> &body) {
  Options options;
  options.backend = "nvidia";
  options.ranks = kRanks;
  runRanks(options, body);
}

/// A call of the driver takes fewer words than so many chunks have.
TEST(CopyLaunches, MayHaveManyChunks) {
  onRanks([](Context &ctx) {
    constexpr int kChunks = 300;
    Tensor host = Tensor::own(DType::f32, {2 * kChunks, kColumns});
    for (int64_t n = 0; n < host.elements(); ++n)
      host.as<f32>()[n] = float(ctx.rank() + 2 * n);
    Tensor x = ctx.tensorFrom(host), y = ctx.tensor<f32>({kRanks * 2 * kChunks, kColumns});
    ctx.compile(kernels::allGather(DType::f32, inChunks(kChunks)))(x, y);
    Tensor all = y.toHost();
    for (int64_t n = 0; n < all.elements(); ++n) {
      int64_t rank = n / host.elements(), of = n % host.elements();
      ASSERT_EQ(all.as<f32>()[n], float(rank + 2 * of)) << n;
    }
  });
}

/// Fork, kernel, the other stream's wait; credit, then a copy and words for each chunk.
TEST(CopyLaunches, TakeOneCallWhereTheArgumentsCameBefore) {
  for (auto [chunks, steps] : {std::pair(1, uint64_t(6)), {3, uint64_t(10)}})
    onRanks([chunks = chunks, steps = steps](Context &ctx) {
      Tensor x = numbersOf(ctx), other = numbersOf(ctx, 0.5);
      Tensor y = ctx.tensor<f32>({kRanks * kRows, kColumns});
      Program run = ctx.compile(kernels::allGather(DType::f32, inChunks(chunks)));
      run.prepare({x, y});
      run.prepare({other, y});
      EXPECT_EQ(callsOf(ctx, [&] { run(x, y); }), steps);
      run(x, y); // makes the graph
      expectGathered(y);
      EXPECT_EQ(callsOf(ctx, [&] { run(x, y); }), 1U);
      expectGathered(y);
      EXPECT_EQ(callsOf(ctx, [&] { run(other, y); }), steps);
      expectGathered(y, 0.5);
      EXPECT_EQ(callsOf(ctx, [&] { run(x, y); }), 1U);
      expectGathered(y);
    });
}

kernels::FusedGemmConfig byCopyEngines(int chunks) {
  kernels::FusedGemmConfig config;
  config.m = config.n = config.k = 16, config.group = 1;
  config.copyEngines = true, config.chunks = chunks;
  return config;
}

/// As above, with a copy for each chunk of each exchange: words before, between and behind copies are
/// one batch each. A node of a graph takes as long as a call, so this is the host's time.
TEST(CopyLaunches, OfProductsTakeACopyAndABatchForEachChunk) {
  constexpr int64_t kExtent = 64;
  auto calls = [&](const Kernel &kernel, int64_t rowsOfA, int64_t rowsOfC) {
    uint64_t made = 0;
    onRanks([&](Context &ctx) {
      Tensor a = ctx.tensor<f32>({rowsOfA, kExtent}), b = ctx.tensor<f32>({kExtent, kExtent});
      Tensor c = ctx.tensor<f32>({rowsOfC, kExtent});
      Program run = ctx.compile(kernel);
      run.prepare({a, b, c});
      uint64_t mine = callsOf(ctx, [&] { run(a, b, c); });
      if (ctx.rank() == 0)
        made = mine;
      ctx.sync();
    });
    return made;
  };
  constexpr uint64_t kFork = 3, kLast = 1; // the kernel among them; the batch behind the last copy
  auto expected = [](uint64_t copies) { return kFork + 2 * copies + kLast; };
  EXPECT_EQ(calls(kernels::allGatherGemm(DType::f32, byCopyEngines(1)), kExtent, 2 * kExtent),
            expected(1));
  EXPECT_EQ(calls(kernels::gemmReduceScatter(DType::f32, byCopyEngines(2)), 2 * kExtent, kExtent),
            expected(2));
  EXPECT_EQ(calls(kernels::gemmAllReduce(DType::f32, byCopyEngines(2)), kExtent, kExtent),
            expected(4));
}

/// By a program that uses CUDA itself.
TEST(CopyLaunches, AreCapturedStepByStep) {
  onRanks([](Context &ctx) {
    Tensor x = numbersOf(ctx), y = ctx.tensor<f32>({kRanks * kRows, kColumns});
    Program run = ctx.compile(kernels::allGather(DType::f32, inChunks(2)));
    for (int n = 0; n < 3; ++n) // it has a graph of its own then
      run(x, y);
    ctx.sync();
    drivertest::Stream theirs;
    Stream borrowed = cuda::stream(ctx, theirs);
    void *graph = drivertest::captured(theirs, [&] {
      run.on(borrowed)(x, y);
      run.on(borrowed)(x, y);
    });
    Tensor inputs[] = {numbersOf(ctx, 1), numbersOf(ctx, 2), numbersOf(ctx, 3)};
    ctx.assemble();
    for (int more : {1, 2, 3}) {
      borrowed.copy(x, inputs[more - 1]);
      EXPECT_EQ(drivertest::cuda().cuGraphLaunch(graph, theirs), 0);
      borrowed.wait();
      expectGathered(y, more);
      run(x, y); // between theirs
      ctx.sync();
      expectGathered(y, more);
    }
    drivertest::cuda().cuGraphExecDestroy(graph);
  });
}

std::unique_ptr<runtime::nvidia::Graph> emptyGraph() {
  return std::make_unique<runtime::nvidia::Graph>(runtime::nvidia::Gpu::open(),
                                                  [](const runtime::nvidia::Stream &) {});
}

TEST(LaunchGraphs, AreThoseUsedLately) {
  LaunchGraphs graphs;
  std::vector<char> bindings(LaunchGraphs::kMost + 1);
  for (int turn = 0; turn < 3; ++turn)
    for (char &binding : bindings) {
      bool isIn = turn > 0 && &binding != &bindings.back();
      EXPECT_EQ(graphs.next(&binding, emptyGraph) != nullptr, isIn);
    }
  const auto *kept = graphs.next(&bindings[1], emptyGraph);
  for (uint64_t n = 0; n < LaunchGraphs::kIdle; ++n)
    EXPECT_EQ(graphs.next(&bindings[1], emptyGraph), kept);
  EXPECT_NE(graphs.next(&bindings.back(), emptyGraph), nullptr); // in the place of an idle one
  EXPECT_EQ(graphs.next(&bindings[1], emptyGraph), kept);
  graphs.clear();
  EXPECT_EQ(graphs.next(&bindings[1], emptyGraph), nullptr);
}

TEST(LaunchGraphs, AreNotAskedForAgainWhereTheDriverRefuses) {
  LaunchGraphs graphs;
  char binding = 0;
  int asked = 0;
  auto refuse = [&]() -> std::unique_ptr<runtime::nvidia::Graph> {
    ++asked;
    throw RuntimeError("CUDA_ERROR_NOT_SUPPORTED");
  };
  for (int n = 0; n < 5; ++n)
    EXPECT_EQ(graphs.next(&binding, refuse), nullptr);
  EXPECT_EQ(asked, 1);
}

} // namespace
} // namespace ditron
