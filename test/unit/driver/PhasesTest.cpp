// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of several phases, the next of which reads what all cores wrote in the one before. On a
// GPU each phase is a region, with roles and warps of its own.
#include "ditron/driver/Context.h"
#include "ditron/kernels/kernels.h"
#include <cmath>
#include <gtest/gtest.h>

namespace ditron {
namespace {

/// Tile (i, j) of a times the transposed b.
Tile product(const auto &a, Index i, const auto &b, Index j) {
  Var acc = zeros<f32>(a.height(), b.height());
  for (auto k : range(a.cols()))
    acc += dot(a(i, k), transpose(b(j, k)));
  return acc;
}

/// H = max(X * W^T, 0), then Y = H * V^T.
Kernel twoProducts(int n) {
  return Kernel("two-products(X[M,K], W[H,K], V[N,H], T[M,H]) -> Y[M,N]",
                [n](In<bf16> X, In<bf16> W, In<bf16> V, InOut<bf16> T, Out<f32> Y) {
                  auto t = T.tiled(128, n);
                  for (auto [i, j] : t.tiles())
                    t(i, j) =
                        cast<bf16>(maximum(product(X.tiled(128, 64), i, W.tiled(n, 64), j), 0.0f));
                  barrier();
                  auto y = Y.tiled(64, 64);
                  for (auto [i, j] : y.tiles())
                    y(i, j) = product(T.tiled(64, 64), i, V.tiled(64, 64), j);
                });
}

struct Host {
  Host(int64_t rows, int64_t columns, int seed)
      : tensor(Tensor::own(DType::bf16, {rows, columns})), rows(rows), columns(columns) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        tensor.set({i, j}, double((i * 7 + j * 3 + seed) % 9 - 4) / 4);
  }
  double at(int64_t i, int64_t j) const { return tensor.at({i, j}); }

  Tensor tensor;
  int64_t rows, columns;
};

void expectTwoProducts(int n, int64_t M, int64_t N, int64_t H, int64_t K) {
  Context ctx = Context::init();
  Host x(M, K, 1), w(H, K, 2), v(N, H, 3);
  Tensor t = ctx.tensor<bf16>({M, H}), y = ctx.tensor<f32>({M, N});
  Program run = ctx.compile(twoProducts(n));
  Tensor a = ctx.tensorFrom(x.tensor), b = ctx.tensorFrom(w.tensor), c = ctx.tensorFrom(v.tensor);
  run(a, b, c, t, y);
  Tensor hidden = t.toHost(), found = y.toHost();
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t h = 0; h < H; ++h) {
      double sum = 0;
      for (int64_t k = 0; k < K; ++k)
        sum += x.at(i, k) * w.at(h, k);
      ASSERT_NEAR(hidden.at({i, h}), std::max(sum, 0.0), 0.01 * (1 + std::abs(sum)));
    }
    for (int64_t j = 0; j < N; ++j) {
      double sum = 0;
      for (int64_t h = 0; h < H; ++h)
        sum += hidden.at({i, h}) * v.at(j, h);
      ASSERT_NEAR(found.at({i, j}), sum, 1e-4 * (1 + std::abs(sum)));
    }
  }
}

/// What the rank before has. With barriers nothing else says that it is there.
Kernel rotation(int barriers) {
  return Kernel("rotation(x[M,N]) -> y[M,N]", [=](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(16, 32);
    auto ys = y.tiled(16, 32);
    auto buffer = symmetric<f32>({x.rows(), x.cols()}, "buffer");
    auto ready = signals({xs.rows(), xs.cols()}, "ready");
    auto next = (rank() + 1) % numRanks();
    auto received = buffer.tiled(16, 32);
    for (auto [i, j] : xs.tiles()) {
      put(xs(i, j), buffer.on(next).tiled(16, 32)(i, j));
      notify(ready.on(next)(i, j));
    }
    for (int n = 0; n < barriers; ++n)
      barrierAll();
    for (auto [i, j] : ys.tiles()) {
      if (barriers == 0)
        wait(ready(i, j), 1);
      ys(i, j) = received(i, j);
    }
  });
}

/// Kernels that differ in barriers alone, one behind the other.
TEST(Phases, OfKernelsOfOneSignature) {
  Options options;
  options.ranks = 2;
  options.cores = 2;
  runRanks(options, [](Context &ctx) {
    constexpr int64_t M = 10, N = 20;
    Program none = ctx.compile(rotation(0)), one = ctx.compile(rotation(1)),
            three = ctx.compile(rotation(3));
    Tensor x = ctx.tensor<f32>({M, N}), y = ctx.tensor<f32>({M, N});
    for (int launch = 0; launch < 12; ++launch)
      for (const Program *run : {&none, &one, &three}) {
        x.fill(10 * ctx.rank() + launch);
        y.fill(-1);
        (*run)(x, y);
        Tensor host = y.toHost();
        for (int64_t i = 0; i < M; ++i)
          for (int64_t j = 0; j < N; ++j)
            ASSERT_EQ(host.at({i, j}), 10 * (1 - ctx.rank()) + launch) << i << ", " << j;
      }
  });
}

TEST(Phases, OfTheSameWarps) { expectTwoProducts(64, 128, 64, 64, 64); }
TEST(Phases, OfDifferentWarps) { expectTwoProducts(128, 256, 128, 256, 128); }
TEST(Phases, OfRaggedTensors) { expectTwoProducts(128, 150, 72, 200, 72); }
TEST(Phases, OfTensorsThatNoTmaTakes) { expectTwoProducts(64, 33, 17, 41, 23); }

} // namespace
} // namespace ditron
