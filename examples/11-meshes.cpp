// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lesson 11: meshes, rings and experts.
//
// Three programs that are known by the way their data moves, each made of a kernel of one device and
// of placements:
//
//     SUMMA             C = A * B on a mesh of 2 x 2 ranks, each of which has a block of each matrix
//     ring attention    a sequence in parts: queries stay, keys and values go round the ranks
//     experts           each token goes to the rank that has the weights of its expert
#include "Lesson.h"
using namespace ditron;

static double valueA(int64_t row, int64_t k) { return double((7 * row + 3 * k) % 5) - 2; }
static double valueB(int64_t k, int64_t column) { return double((5 * k + 11 * column) % 7) - 3; }

/// gemm(A[M,K], B[K,N]) -> C[M,N], blocks all three. A rank multiplies the blocks of A of its row of
/// the mesh with those of B of its column, and C stays where it is. With rings, a rank passes blocks
/// to its neighbours alone, in an order that both operands share: Cannon's algorithm.
Kernel blocks(bool rings) {
  kernels::GemmConfig config;
  config.m = 16, config.n = 32, config.k = 16;
  return distribute(
      kernels::gemm(DType::f32, config),
      {{"A", gathered(1).along("col").ring(rings)}, {"B", gathered(0).along("row").ring(rings)}});
}

void multiplyBlocks(bool rings) {
  Options options{.ranks = 4, .cores = 2};
  options.mesh = runtime::MeshRequest::parse("row=2,col=2"); // rank = 2 * row + col
  runRanks(options, [&](Context &ctx) {
    const int64_t M = 21, N = 37, K = 26;
    const int64_t row = ctx.rank() / 2, column = ctx.rank() % 2;
    Tensor a = ctx.tensor<f32>({M, K}), b = ctx.tensor<f32>({K, N}), c = ctx.tensor<f32>({M, N});
    lesson::fill(a, [&](int64_t i, int64_t k) { return valueA(row * M + i, column * K + k); });
    lesson::fill(b, [&](int64_t k, int64_t j) { return valueB(row * K + k, column * N + j); });
    Program multiply = ctx.compile(blocks(rings));
    for (int launch = 0; launch < 2; ++launch)
      multiply(a, b, c);
    lesson::check(c, "c", [&](int64_t i, int64_t j) {
      double sum = 0;
      for (int64_t k = 0; k < 2 * K; ++k)
        sum += valueA(row * M + i, k) * valueB(k, column * N + j);
      return sum;
    });
  });
}

constexpr int64_t kPart = 19, kWidth = 16; // queries and keys of a rank; elements of each

static double valueQ(int64_t token, int64_t d) { return double((3 * token + 5 * d) % 7 - 3) / 8; }
static double valueK(int64_t token, int64_t d) { return double((5 * token + 2 * d) % 9 - 4) / 8; }
static double valueV(int64_t token, int64_t d) { return double((2 * token + 7 * d) % 11 - 5); }

/// o = softmax(q * k^T) * v of one head. The order of the keys does not matter, and inAnyOrder() says
/// so: each rank begins with its own, and goes on with those that its neighbour hands on.
Kernel ringAttention() {
  Kernel attention("attention(q[T,D], k[S,D], v[S,D]) -> o[T,D]",
                   [](In<f32> q, In<f32> k, In<f32> v, Out<f32> o) {
                     auto keys = k.tiled(8, kWidth), values = v.tiled(8, kWidth);
                     Tile column = iota({1, 8}, 1);
                     for (auto [i, head] : o.tiled(8, kWidth).tiles()) {
                       Tile mine = q.tiled(8, kWidth)(i, 0);
                       Var top = full<f32>({8, 1}, -1e30F), total = zeros<f32>(8, 1);
                       Var sums = zeros<f32>(8, kWidth);
                       for (auto j : inAnyOrder(keys.rows())) {
                         // The last tile may have fewer keys. With the keys of several ranks, so may the last one
                         // of each: what it lacks counts as behind all keys.
                         Tile isKey = column + j * 8 < toTile(k.rows());
                         Tile scores = select(isKey, dot(mine, transpose(keys(j, 0))), -1e30F);
                         Tile next = maximum(top, max(scores, 1)), fading = exp(top - next);
                         Tile weights = select(isKey, exp(scores - next), 0);
                         total = total * fading + sum(weights, 1);
                         sums = sums * fading + dot(weights, values(j, 0));
                         top = next;
                       }
                       o.tiled(8, kWidth)(i, head) = sums / total;
                     }
                   });
  return distribute(attention, {{"k", gathered(0).ring()}, {"v", gathered(0).ring()}});
}

void attend() {
  runRanks({.ranks = 3, .cores = 2}, [](Context &ctx) {
    const int64_t first = ctx.rank() * kPart, all = ctx.ranks() * kPart;
    Tensor q = ctx.tensor<f32>({kPart, kWidth}), k = ctx.tensor<f32>({kPart, kWidth});
    Tensor v = ctx.tensor<f32>({kPart, kWidth}), o = ctx.tensor<f32>({kPart, kWidth});
    lesson::fill(q, [&](int64_t i, int64_t d) { return valueQ(first + i, d); });
    lesson::fill(k, [&](int64_t i, int64_t d) { return valueK(first + i, d); });
    lesson::fill(v, [&](int64_t i, int64_t d) { return valueV(first + i, d); });
    ctx.compile(ringAttention())(q, k, v, o);
    auto attended = [&](int64_t i, int64_t column) {
      double total = 0, sum = 0;
      for (int64_t key = 0; key < all; ++key) {
        double score = 0;
        for (int64_t d = 0; d < kWidth; ++d)
          score += valueQ(first + i, d) * valueK(key, d);
        total += std::exp(score);
        sum += std::exp(score) * valueV(key, column);
      }
      return sum / total;
    };
    lesson::check(o, "o", attended, 1e-4);
  });
}

/// grouped-gemm(A[T,K], W[G,N,K], counts[R*G]) -> C[R*T,N]: rows of A are sorted by expert, and a rank
/// multiplies those that all ranks send to its G experts.
Kernel experts() {
  kernels::GemmTile tile;
  tile.m = 8, tile.n = 16, tile.k = 16;
  return distribute(kernels::groupedGemm(DType::f32, tile), {{"A", exchanged("counts")}});
}

/// How many tokens of a rank each expert takes.
static int64_t tokensFor(int64_t rank, int64_t expert) { return (2 * rank + 3 * expert) % 4; }

void multiplyByExperts() {
  runRanks({.ranks = 3, .cores = 2}, [](Context &ctx) {
    const int64_t T = 20, G = 2, N = 17, K = 24, R = ctx.ranks(), me = ctx.rank();
    Tensor a = ctx.tensor<f32>({T, K}), w = ctx.tensor<f32>({G, N, K});
    Tensor counts = ctx.tensor<i32>({R * G}), c = ctx.tensor<f32>({R * T, N});
    lesson::fill(a, [&](int64_t i, int64_t k) { return valueA(me * T + i, k); });
    lesson::fill(counts, [&](int64_t, int64_t expert) { return double(tokensFor(me, expert)); });
    Tensor weights = Tensor::own(w.dtype(), w.shape());
    for (int64_t g = 0; g < G; ++g)
      for (int64_t n = 0; n < N; ++n)
        for (int64_t k = 0; k < K; ++k)
          weights.set({g, n, k}, valueB(me * G + g, n + k));
    w.copyFrom(weights);
    ctx.compile(experts())(a, w, counts, c);

    Tensor found = c.toHost();
    int64_t row = 0; // the tokens of an expert come in the order of the ranks that send them
    for (int64_t expert = me * G; expert < (me + 1) * G; ++expert)
      for (int64_t from = 0; from < R; ++from) {
        int64_t token = from * T;
        for (int64_t before = 0; before < expert; ++before)
          token += tokensFor(from, before);
        for (int64_t i = 0; i < tokensFor(from, expert); ++i, ++row, ++token)
          for (int64_t n = 0; n < N; ++n) {
            double sum = 0;
            for (int64_t k = 0; k < K; ++k)
              sum += valueA(token, k) * valueB(expert, n + k);
            if (found.at({row, n}) != sum)
              throw Error("row " + std::to_string(row) + " of c is wrong");
          }
      }
  });
}

int main() {
  return lesson::run("11-meshes", [] {
    multiplyBlocks(/*rings=*/false);
    multiplyBlocks(/*rings=*/true);
    attend();
    multiplyByExperts();
  });
}
