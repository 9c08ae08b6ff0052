// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lesson 9: one program on every backend. Kernels of the library, streams, graphs.
//
// A context is one rank on one device, whatever that is. The backend is an option: `09-backends
// nvidia` runs the three kernels below on GPUs, `09-backends cpu` on CPU cores, `09-backends
// reference` in the interpreter that defines what they mean. Nothing else changes.
#include "Lesson.h"
#include "ditron/tune/Choose.h"
#include <algorithm>
using namespace ditron;

// Small integers: every product and sum is exact.
static double valueA(int64_t i, int64_t k) { return double((7 * i + 3 * k) % 5) - 2; }
static double valueB(int64_t k, int64_t j) { return double((5 * k + 11 * j) % 7) - 3; }
static double product(int64_t i, int64_t j, int64_t K) {
  double sum = 0;
  for (int64_t k = 0; k < K; ++k)
    sum += valueA(i, k) * valueB(k, j);
  return sum;
}

// A launch returns at once. What is enqueued on a stream is done in order; a copy to the host, as
// lesson::check makes it, waits for what was enqueued before.
static void runGemm(Context &ctx) {
  const int64_t M = 70, N = 50, K = 30;
  Tensor A = ctx.tensor<f32>({M, K}), B = ctx.tensor<f32>({K, N}), C = ctx.tensor<f32>({M, N});
  lesson::fill(A, valueA);
  lesson::fill(B, valueB);
  // The tiles are those that are good for these extents on this device; kernels::gemm(DType::f32, {}) has tiles that
  // work anywhere.
  Program run = tune::compile(ctx, "gemm", DType::f32, {{"M", M}, {"N", N}, {"K", K}});
  run(A, B, C);
  lesson::check(C, "C", [&](int64_t i, int64_t j) { return product(i, j, K); });
}

// A graph is a part of a stream that is recorded once and launched again and again, on the same
// tensors: on a GPU it is a CUDA graph.
static void runAttention(Context &ctx) {
  const int64_t T = 20, D = 16;
  Tensor q = ctx.tensor<f32>({T, 1, D}), k = ctx.tensor<f32>({T, 1, D}),
         v = ctx.tensor<f32>({T, 1, D});
  Tensor o = ctx.tensor<f32>({T, 1, D}), starts = ctx.tensor<i32>({2});
  auto value = [](int64_t t, int64_t d, int shift) {
    return std::sin(double(t + shift) + 0.5 * double(d));
  };
  auto fill = [&](const Tensor &tensor, int shift) {
    Tensor host = Tensor::own(DType::f32, tensor.shape());
    for (int64_t t = 0; t < T; ++t)
      for (int64_t d = 0; d < D; ++d)
        host.set({t, 0, d}, value(t, d, shift));
    tensor.copyFrom(host);
  };
  fill(q, 0), fill(k, 1), fill(v, 2);
  lesson::fill(starts, [&](int64_t, int64_t n) { return n * T; });
  const double scale = 0.25;

  kernels::AttentionConfig config;
  config.m = config.n = 16, config.d = int(D);
  Program run = ctx.compile(kernels::flashAttention(DType::f32, config));
  run.prepare({q, k, v, starts, starts, scale, o});
  Graph graph =
      ctx.record([&](const Stream &stream) { run.on(stream)(q, k, v, starts, starts, scale, o); });
  for (int n = 0; n < 3; ++n)
    graph.launch();

  Tensor found = o.toHost();
  for (int64_t t = 0; t < T; ++t) {
    std::vector<double> weights(T);
    double total = 0;
    for (int64_t s = 0; s < T; ++s) {
      double score = 0;
      for (int64_t d = 0; d < D; ++d)
        score += value(t, d, 0) * value(s, d, 1);
      total += weights[size_t(s)] = std::exp(scale * score);
    }
    for (int64_t d = 0; d < D; ++d) {
      double expected = 0;
      for (int64_t s = 0; s < T; ++s)
        expected += weights[size_t(s)] / total * value(s, d, 2);
      if (std::abs(found.at({t, 0, d}) - expected) > 1e-4)
        throw Error("o is " + std::to_string(found.at({t, 0, d})) + ", expected " +
                    std::to_string(expected));
    }
  }
}

// Ranks: every rank has rows of A and columns of B. LaunchStats say how long the launch took.
static void runAllGatherGemm(Context &ctx) {
  const int64_t M = 40, N = 24, K = 33, rank = ctx.rank();
  Tensor A = ctx.tensor<f32>({M, K}), B = ctx.tensor<f32>({K, N});
  Tensor C = ctx.tensor<f32>({ctx.ranks() * M, N});
  lesson::fill(A, [&](int64_t i, int64_t k) { return valueA(rank * M + i, k); });
  lesson::fill(B, [&](int64_t k, int64_t j) { return valueB(k, rank * N + j); });
  kernels::FusedGemmConfig config;
  config.m = config.n = config.k = 16;
  Program run = ctx.compile(kernels::allGatherGemm(DType::f32, config));
  LaunchStats stats = run.timed(A, B, C);
  if (!(stats.seconds > 0))
    throw Error("a launch that took no time");
  lesson::check(C, "C", [&](int64_t i, int64_t j) { return product(i, rank * N + j, K); });
}

int main(int argc, char **argv) {
  return lesson::run("09-backends", [&] {
    Options options;
    options.ranks = 2;
    options.cores = 2;
    if (argc > 1)
      options.backend = argv[1];
    runRanks(options, [](Context &ctx) {
      if (ctx.rank() == 0)
        std::printf("%d ranks of %d cores, %s\n", ctx.ranks(), ctx.cores(), ctx.backend().c_str());
      runGemm(ctx);
      runAttention(ctx);
      runAllGatherGemm(ctx);
    });
  });
}
