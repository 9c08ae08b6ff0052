// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Truth values: true is 1 and larger than false, on the backend that DITRON_BACKEND names.
#include "ditron/driver/Context.h"
#include <gtest/gtest.h>

namespace ditron {
namespace {

constexpr int kRows = 8, kColumns = 16, kResults = 6;

bool given(int64_t i, int64_t j) { return i == 3 || (i != 5 && (i * 5 + j * 3) % 4 == 0); }

/// What each operation makes of x and y, and the numbers that the elements of a row are.
Kernel truths() {
  return Kernel("truths(x[M,N], y[M,N]) -> z[K,M,N], row[N]",
                [](In<i1> x, In<i1> y, Out<i1, 3> z, Out<i32, 1> row) {
                  auto zs = z.tiled(kRows, kColumns);
                  for ([[maybe_unused]] auto [one] : grid({Index(1)})) {
                    Tile a = x.tiled(kRows, kColumns)(0, 0), b = y.tiled(kRows, kColumns)(0, 0);
                    zs(0, 0, 0) = a < b;
                    zs(1, 0, 0) = a >= b;
                    zs(2, 0, 0) = maximum(a, b);
                    zs(3, 0, 0) = minimum(a, b);
                    zs(4, 0, 0) = broadcast(any(a, 1), {kRows, kColumns});
                    zs(5, 0, 0) = broadcast(all(a, 1), {kRows, kColumns});
                    for (auto j : range(row.size()))
                      row.tiled(1)(j) = toTile(toIndex(x.read({1, j})));
                  }
                });
}

TEST(Truth, IsOne) {
  Context ctx = Context::init();
  Tensor x = Tensor::own(DType::i1, {kRows, kColumns}), y = x.clone();
  bool some[kRows] = {}, every[kRows];
  for (int64_t i = 0; i < kRows; ++i) {
    every[i] = true;
    for (int64_t j = 0; j < kColumns; ++j) {
      x.set({i, j}, given(i, j)), y.set({i, j}, given(j % kRows, i));
      some[i] |= given(i, j), every[i] &= given(i, j);
    }
  }
  Tensor z = ctx.tensor<i1>({kResults, kRows, kColumns}), row = ctx.tensor<i32>({kColumns});
  ctx.compile(truths())(ctx.tensorFrom(x), ctx.tensorFrom(y), z, row);
  Tensor found = z.toHost(), numbers = row.toHost();
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) {
      bool a = given(i, j), b = given(j % kRows, i);
      bool expected[kResults] = {!a && b, a || !b, a || b, a && b, some[i], every[i]};
      for (int64_t n = 0; n < kResults; ++n)
        EXPECT_EQ(found.at({n, i, j}) != 0, expected[n])
            << "result " << n << " of [" << i << ", " << j << "]";
    }
  for (int64_t j = 0; j < kColumns; ++j)
    EXPECT_EQ(numbers.at({j}), given(1, j)) << j;
}

} // namespace
} // namespace ditron
