// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A core reads what it wrote before, whatever threads do the one and the other, on the backend that
// DITRON_BACKEND names.
#include "ditron/driver/Context.h"
#include <gtest/gtest.h>

namespace ditron {
namespace {

constexpr int kWide = 1024, kNarrow = 64;

/// t = 2 * x in wide tiles, and y = t + 1 in narrow ones, which other threads read.
Kernel throughMemory() {
  return Kernel(
      "through-memory(x[N], t[N]) -> y[N]", [](In<f32, 1> x, InOut<f32, 1> t, Out<f32, 1> y) {
        auto from = t.tiled(kNarrow);
        auto to = y.tiled(kNarrow);
        for (auto [i] : t.tiled(kWide).tiles()) {
          t.tiled(kWide)(i) = x.tiled(kWide)(i) * 2.0f;
          Index first = i * (kWide / kNarrow);
          for (auto part : range(first, min(first + kWide / kNarrow, ceilDiv(y.size(), kNarrow))))
            to(part) = from(part) + 1.0f;
        }
      });
}

/// Each pass reads the tile that the one before wrote, the other way round.
Kernel inPasses() {
  return Kernel("in-passes(x[M,N], t[M,N], passes) -> y[M,N]",
                [](In<f32> x, InOut<f32> t, Index passes, Out<f32> y) {
                  auto a = t.tiled(64, 32), b = t.tiled(32, 64);
                  for (auto [i] : grid({1})) {
                    a(i, 0) = x.tiled(64, 32)(i, 0);
                    a(i, 1) = x.tiled(64, 32)(i, 1);
                    for (auto pass : range(passes)) {
                      auto half = pass % 2;
                      b(half, 0) = b(1 - half, 0) + 1.0f;
                      a(0, half) = a(0, 1 - half) + 1.0f;
                    }
                    y.tiled(64, 64)(i, 0) = t.tiled(64, 64)(i, 0);
                  }
                });
}

/// In pass p other threads write words, i + p in word i, and y gets the rows of x that the last four of them name.
Kernel byWords() {
  return Kernel("by-words(x[K,N], words[M], passes) -> y[P,N]",
                [](In<f32> x, InOut<i32, 1> words, Index passes, Out<f32> y) {
                  auto from = x.tiled(1, kNarrow);
                  auto to = y.tiled(1, kNarrow);
                  for (auto [core] : grid({1}))
                    for (auto pass : range(passes)) {
                      words.tiled(kWide)(core) = iota(kWide) + pass;
                      for (auto n : range(4)) {
                        Index row = toIndex(words.read({words.size() - 1 - n}));
                        to(4 * pass + n, 0) = from(row, 0);
                      }
                    }
                });
}

TEST(ProgramOrder, HoldsBetweenTilesAndWords) {
  Context ctx = Context::init();
  Program run = ctx.compile(byWords());
  constexpr int64_t kWords = 500, kPasses = 20, kRows = kWords + kPasses;
  Tensor host = Tensor::own(DType::f32, {kRows, 1});
  for (int64_t row = 0; row < kRows; ++row)
    host.set({row, 0}, double(row));
  Tensor x = ctx.tensorFrom(host), words = ctx.tensorFrom(Tensor::own(DType::i32, {kWords}));
  Tensor y = ctx.tensor<f32>({4 * kPasses, 1});
  run(x, words, kPasses, y);
  Tensor found = y.toHost();
  for (int64_t pass = 0; pass < kPasses; ++pass)
    for (int64_t n = 0; n < 4; ++n)
      ASSERT_EQ(found.at({4 * pass + n, 0}), double(kWords - 1 - n + pass)) << pass << ", " << n;
}

TEST(ProgramOrder, HoldsBetweenTilesOfOtherShapes) {
  Context ctx = Context::init();
  Program run = ctx.compile(throughMemory());
  for (int64_t N : {1, 64, 1000, 5000}) {
    Tensor host = Tensor::own(DType::f32, {N});
    for (int64_t n = 0; n < N; ++n)
      host.set({n}, double(n % 97));
    Tensor x = ctx.tensorFrom(host), t = ctx.tensor<f32>({N}), y = ctx.tensor<f32>({N});
    run(x, t, y);
    Tensor found = y.toHost();
    for (int64_t n = 0; n < N; ++n)
      ASSERT_EQ(found.at({n}), 2 * double(n % 97) + 1) << n << " of " << N;
  }
}

TEST(ProgramOrder, HoldsFromOnePassToTheNext) {
  Context ctx = Context::init();
  Program run = ctx.compile(inPasses());
  constexpr int64_t kEdge = 64, kPasses = 5;
  std::vector<std::vector<double>> t(kEdge, std::vector<double>(kEdge));
  Tensor host = Tensor::own(DType::f32, {kEdge, kEdge});
  for (int64_t i = 0; i < kEdge; ++i)
    for (int64_t j = 0; j < kEdge; ++j)
      host.set({i, j}, t[size_t(i)][size_t(j)] = double((i * 7 + j * 3) % 31));
  for (size_t pass = 0; pass < kPasses; ++pass) {
    size_t half = pass % 2;
    for (size_t i = 0; i < 32; ++i)
      for (size_t j = 0; j < 64; ++j)
        t[half * 32 + i][j] = t[(1 - half) * 32 + i][j] + 1;
    for (size_t i = 0; i < 64; ++i)
      for (size_t j = 0; j < 32; ++j)
        t[i][half * 32 + j] = t[i][(1 - half) * 32 + j] + 1;
  }
  Tensor x = ctx.tensorFrom(host), kept = ctx.tensor<f32>({kEdge, kEdge});
  Tensor y = ctx.tensor<f32>({kEdge, kEdge});
  run(x, kept, kPasses, y);
  Tensor found = y.toHost();
  for (int64_t i = 0; i < kEdge; ++i)
    for (int64_t j = 0; j < kEdge; ++j)
      ASSERT_EQ(found.at({i, j}), t[size_t(i)][size_t(j)]) << i << ", " << j;
}

} // namespace
} // namespace ditron
