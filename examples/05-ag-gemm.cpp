// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lesson 5: an all-gather and a matrix product in one kernel, one overlapped with the other.
//
// Every rank has M rows of A, and columns of B that no other rank has. Each computes the product of
// all rows of A with its own B. The rows of the others have to come over; the usual way is to
// gather all of A first and multiply then. Here the product of a row of tiles begins as soon as
// that row has arrived, while the next ones are under way.
#include "Lesson.h"
using namespace ditron;

struct AgGemmConfig {
  int m = 32, n = 64, k = 64; // tiles of C are m x n; k of the summed dimension at a time
  int commCores = 1;          // of each rank's cores, those that send
};

/// Tile (i, j) of a * b, in f32.
Tile product(const auto &a, Index i, const auto &b, Index j) {
  Var acc = zeros<f32>(a.height(), b.width());
  for (auto k : range(a.cols()))
    acc += dot(a(i, k), b(k, j));
  return acc;
}

Kernel agGemm(AgGemmConfig cfg = {}) {
  return Kernel("ag-gemm(A[M,K], B[K,N]) -> C[R*M,N]", [=](In<f32> A, In<f32> B, Out<f32> C) {
    auto [m, n, k, commCores] = cfg;
    auto full = symmetric<f32>({numRanks(), A.rows(), A.cols()}, "full"); // A of every rank
    auto mine = A.tiled(m, k), b = B.tiled(k, n);
    auto a = full.tiled(m, k);
    auto c = C.split(numRanks()).tiled(m, n); // C as [R, M, N]
    auto ready = signals({numRanks(), mine.rows()}, "ready");
    auto [comm, compute] = splitCores(commCores);

    comm.run("gather", [&] {
      for (auto peer : ranks()) // me, me + 1, ...: no two ranks begin with the same one
        for (auto [i, part] : mine.tiles()) {
          put(mine(i, part), full.on(peer).tiled(m, k)(rank(), i, part));
          notify(ready.on(peer)(rank(), i)); // one more tile of that row has landed
        }
    });
    compute.run("multiply", [&] {
      for (auto [s, i, j] : c.tiles(order::ownShardFirst)) {
        wait(ready(s, i), mine.cols()); // all tiles of row i of rank s are here
        c(s, i, j) = product(a.at(s), i, b, j);
      }
    });
  });
}

// What makes it overlap:
//
// Roles. splitCores(1) gives one core to the first role and the rest to the second. Both are
// running at the same time; nothing but the signals connects them.
//
// Signals. ready has one counter for every row of tiles of every rank. The counter is 0 when the
// kernel starts, whatever happened in the launch before: there is nothing to reset.
//
// Orders. The sender begins with its own rank, so its neighbours' rows are the next to come; the
// multiplier takes tiles in the same order, the own shard first, and finds its first tiles ready.
//
// The leading dimension. `full` and C are split by rank: [R, M, K] instead of [R*M, K]. Then no
// tile has rows of two ranks, also where M is no multiple of the tile.

static double valueA(int64_t row, int64_t k) { return double((7 * row + 3 * k) % 5) - 2; }
static double valueB(int64_t k, int64_t j) { return double((5 * k + 11 * j) % 7) - 3; }

int main() {
  return lesson::run("05-ag-gemm", [] {
    runRanks({.ranks = 3, .cores = 2}, [](Context &ctx) {
      const int64_t M = 50, N = 70, K = 130;
      const int64_t firstRow = ctx.rank() * M, firstColumn = ctx.rank() * N;
      Tensor A = ctx.tensor<f32>({M, K}), B = ctx.tensor<f32>({K, N});
      Tensor C = ctx.tensor<f32>({ctx.ranks() * M, N});
      lesson::fill(A, [&](int64_t i, int64_t k) { return valueA(firstRow + i, k); });
      lesson::fill(B, [&](int64_t k, int64_t j) { return valueB(k, firstColumn + j); });

      Program run = ctx.compile(agGemm());
      for (int launch = 0; launch < 3; ++launch) // back to back, with no barrier between them
        run(A, B, C);

      lesson::check(C, "C", [&](int64_t i, int64_t j) {
        double sum = 0;
        for (int64_t k = 0; k < K; ++k)
          sum += valueA(i, k) * valueB(k, firstColumn + j);
        return sum;
      });
    });
  });
}
