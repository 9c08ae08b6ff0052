// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inboxes where kernels do more than exchange tiles, on the backend that DITRON_BACKEND names.
#include "ditron/driver/Context.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include <gtest/gtest.h>

namespace ditron {
namespace {

Options ranksOf(int count) {
  Options options;
  options.ranks = count;
  options.cores = 2;
  return options;
}

double valueOf(int64_t row, int64_t column, int64_t rank) {
  return double((7 * row + 3 * column + 5 * rank) % 5) - 2;
}

Tensor matrix(const Context &ctx, DType type, int64_t rows, int64_t columns) {
  Tensor host = Tensor::own(type, {rows, columns});
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      host.set({row, column}, valueOf(row, column, ctx.rank()));
  return ctx.tensorFrom(host);
}

/// The product of what each rank has, summed over the ranks: from the registers of who multiplies.
Kernel sumOfProducts() {
  return Kernel("sum-of-products(A[M,K], B[K,N]) -> C[M,N]",
                [](In<bf16> A, In<bf16> B, Out<f32> C) {
                  auto a = A.tiled(64, 64), b = B.tiled(64, 64);
                  auto c = C.tiled(64, 64);
                  auto box = inbox<f32>({numRanks(), c.rows(), c.cols()}, {64, 64}, "box");
                  for (auto [i, j] : c.tiles()) {
                    Var product = zeros<f32>(64, 64);
                    for (auto k : range(a.cols()))
                      product += dot(a(i, k), b(k, j));
                    Tile mine = product;
                    kernels::sendToPeers(mine, box, i, j);
                    c(i, j) = kernels::sumOfReceived<f32>(mine, box, i, j);
                  }
                });
}

TEST(Inboxes, SumProducts) {
  for (int count : {1, 2})
    runRanks(ranksOf(count), [](Context &ctx) {
      constexpr int64_t M = 72, N = 136, K = 136;
      Tensor a = matrix(ctx, DType::bf16, M, K), b = matrix(ctx, DType::bf16, K, N);
      Tensor c = ctx.tensor<f32>({M, N});
      Program run = ctx.compile(sumOfProducts());
      for (int launch = 0; launch < 3; ++launch)
        run(a, b, c);
      Tensor host = c.toHost();
      for (int64_t i = 0; i < M; i += 5)
        for (int64_t j = 0; j < N; ++j) {
          double sum = 0;
          for (int64_t rank = 0; rank < ctx.ranks(); ++rank)
            for (int64_t k = 0; k < K; ++k)
              sum += valueOf(i, k, rank) * valueOf(k, j, rank);
          ASSERT_EQ(host.at({i, j}), sum) << i << ", " << j;
        }
    });
}

/// The sum over the ranks of tiles of one row, two beside one another: all threads hold narrow ones several times.
Kernel sumOfRows(int width) {
  return Kernel("sum-of-rows(x[M,N]) -> y[M,N]", [=](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(1, width);
    auto ys = y.tiled(1, width);
    auto box = inbox<f32>({numRanks(), xs.rows(), xs.cols() + 1}, {1, width}, "box");
    for (auto [i, group] : x.tiled(1, 2 * width).tiles()) {
      std::vector<Index> columns{2 * group, 2 * group + 1};
      std::vector<Tile> mine{xs(i, columns[0]), xs(i, columns[1])};
      for (size_t n = 0; n < 2; ++n)
        kernels::sendToPeers(mine[n], box, i, columns[n]);
      std::vector<Tile> sums = kernels::sumsOfReceived<f32>(mine, box, i, columns);
      for (size_t n = 0; n < 2; ++n)
        ys(i, columns[n]) = sums[n];
    }
  });
}

TEST(Inboxes, SumRowsOfManyRanks) {
  for (int count : {1, 2, 3, 4, 6})
    for (int width : {4, 16, 1024})
      runRanks(ranksOf(count), [&](Context &ctx) {
        const int64_t M = 3, N = 5 * width - 1;
        Tensor x = matrix(ctx, DType::f32, M, N), y = ctx.tensor<f32>({M, N});
        Program run = ctx.compile(sumOfRows(width));
        for (int launch = 0; launch < 3; ++launch)
          run(x, y);
        Tensor host = y.toHost();
        for (int64_t i = 0; i < M; ++i)
          for (int64_t j = 0; j < N; ++j) {
            double sum = 0;
            for (int64_t rank = 0; rank < ctx.ranks(); ++rank)
              sum += valueOf(i, j, rank);
            ASSERT_EQ(host.at({i, j}), sum) << i << ", " << j << " of " << width;
          }
      });
}

/// What is put before a tile is sent is there when the tile has been received.
Kernel putThenSend() {
  return Kernel("put-then-send(x[M,N]) -> y[M,N]", [](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(4, 8);
    auto ys = y.tiled(4, 8);
    auto buffer = symmetric<f32>({x.rows(), x.cols()}, "buffer");
    auto box = inbox<i32>({xs.rows(), xs.cols()}, {1}, "box");
    auto next = (rank() + 1) % numRanks();
    auto received = buffer.tiled(4, 8);
    for (auto [i, j] : xs.tiles()) {
      put(xs(i, j), buffer.on(next).tiled(4, 8)(i, j));
      send(1, box.on(next)(i, j));
    }
    for (auto [i, j] : ys.tiles()) {
      Tile count = cast<f32>(receive(box(i, j)));
      ys(i, j) = received(i, j) * count;
    }
  });
}

TEST(Inboxes, OrderOtherMemory) {
  for (int count : {1, 2, 3})
    runRanks(ranksOf(count), [](Context &ctx) {
      constexpr int64_t M = 10, N = 20;
      Tensor x = matrix(ctx, DType::f32, M, N), y = ctx.tensor<f32>({M, N});
      Program run = ctx.compile(putThenSend());
      for (int launch = 0; launch < 4; ++launch)
        run(x, y);
      Tensor host = y.toHost();
      int64_t before = (ctx.rank() + ctx.ranks() - 1) % ctx.ranks();
      for (int64_t i = 0; i < M; ++i)
        for (int64_t j = 0; j < N; ++j)
          ASSERT_EQ(host.at({i, j}), valueOf(i, j, before)) << i << ", " << j;
    });
}

} // namespace
} // namespace ditron
