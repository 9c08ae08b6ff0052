// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small kernels for graphs: elementwise, along rows, over everything, in place.
#pragma once
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/lang/Kernel.h"

namespace ditron::testing_graphs {

inline constexpr int kTile = 4;

/// y = 2 * x + step, tile by tile.
inline Kernel affine() {
  return Kernel("affine(x[M,N], step) -> y[M,N]", [](In<f32> X, Scalar<f32> step, Out<f32> Y) {
    auto x = X.tiled(kTile, kTile);
    auto y = Y.tiled(kTile, kTile);
    for (auto [i, j] : y.tiles())
      y(i, j) = x(i, j) * 2 + step;
  });
}

/// z = x - y / 4, by tiles of other extents.
inline Kernel blend() {
  return Kernel("blend(x[M,N], y[M,N]) -> z[M,N]", [](In<f32> X, In<f32> Y, Out<f32> Z) {
    auto x = X.tiled(2, 8), y = Y.tiled(2, 8);
    auto z = Z.tiled(2, 8);
    for (auto [i, j] : z.tiles())
      z(i, j) = x(i, j) - y(i, j) * 0.25;
  });
}

/// y = x less half of the mean of its row: a band of rows reads itself from end to end.
inline Kernel centre() {
  return Kernel("centre(x[M,N]) -> y[M,N]", [](In<f32> X, Out<f32> Y) {
    auto x = X.tiled(kTile, kTile);
    auto y = Y.tiled(kTile, kTile);
    for (auto [i] : y.bands()) {
      Var total = zeros<f32>(kTile, 1);
      for (auto j : range(x.cols()))
        total += sum(x(i, j), 1);
      for (auto j : range(x.cols()))
        y(i, j) = x(i, j) - total * 0.01;
    }
  });
}

/// y = factor * x + the sums of 8 rows w each: a task reads more of constants than of x. Another factor is
/// another type.
inline Kernel heavy(float factor = 1) {
  return Kernel("heavy(x[M,N], w[2*M,N]) -> y[M,N]", [=](In<f32> X, In<f32> W, Out<f32> Y) {
    auto x = X.tiled(kTile, kTile), w = W.tiled(2 * kTile, kTile);
    auto y = Y.tiled(kTile, kTile);
    for (auto [i, j] : y.tiles())
      y(i, j) = x(i, j) * factor + sum(w(i, j), 0);
  });
}

/// y = x times its transpose, a square: a tile reads a row and a column of others.
inline Kernel square() {
  return Kernel("square(x[M,M]) -> y[M,M]", [](In<f32> X, Out<f32> Y) {
    auto x = X.tiled(kTile, kTile);
    auto y = Y.tiled(kTile, kTile);
    for (auto [i, j] : y.tiles()) {
      Var acc = zeros<f32>(kTile, kTile);
      for (auto k : range(x.cols()))
        acc += dot(x(i, k), transpose(x(j, k)));
      y(i, j) = acc * 0.001;
    }
  });
}

/// y = the sum of every rank's x: tiles go from rank to rank in inboxes.
inline Kernel sumOfRanks() {
  return Kernel("sum-of-ranks(x[M,N]) -> y[M,N]", [](In<f32> X, Out<f32> Y) {
    auto x = X.tiled(kTile, kTile);
    auto y = Y.tiled(kTile, kTile);
    auto box = inbox<f32>({numRanks(), x.rows(), x.cols()}, {kTile, kTile}, "parts");
    for (auto [i, j] : x.tiles())
      kernels::sendToPeers(x(i, j), box, i, j);
    for (auto [i, j] : x.tiles())
      y(i, j) = kernels::sumOfReceived<f32>(x(i, j), box, i, j);
  });
}

/// x += y in place.
inline Kernel accumulate() {
  return Kernel("accumulate(y[M,N]) -> x[M,N]", [](In<f32> Y, InOut<f32> X) {
    auto y = Y.tiled(kTile, kTile);
    auto x = X.tiled(kTile, kTile);
    for (auto [i, j] : x.tiles())
      x(i, j) = x(i, j) + y(i, j);
  });
}

/// Row `at` of the table becomes the sum of the rows of x: a place that is known at run time.
inline Kernel append() {
  return Kernel("append(x[M,N], at[1]) -> table[S,N]",
                [](In<f32> X, In<i32, 1> at, InOut<f32> table) {
                  auto x = X.tiled(kTile, kTile);
                  Index row = toIndex(at.read({0}));
                  auto y = table.slice(0, row, 1).tiled(1, kTile);
                  for (auto [one, j] : y.tiles()) {
                    Var total = zeros<f32>(1, kTile);
                    for (auto i : range(x.rows()))
                      total += sum(x(i, j), 0);
                    y(one, j) = total;
                  }
                });
}

/// y = x, dealt by hand, the cores meeting in between: a kernel that is taken as a whole.
inline Kernel byHand() {
  return Kernel("by-hand(x[M,N]) -> y[M,N]", [](In<f32> X, Out<f32> Y) {
    auto x = X.tiled(1, kTile);
    auto y = Y.tiled(1, kTile);
    for (auto round : range(ceilDiv(x.rows(), numCores()))) {
      Index i = round * numCores() + coreId();
      when(i < x.rows(), [&] {
        for (auto j : range(x.cols()))
          y(i, j) = x(i, j) + 1;
      });
    }
  });
}

/// b = a + 1, numbers.
inline Kernel next() {
  return Kernel("next(a[N]) -> b[N]", [](In<i32, 1> A, Out<i32, 1> B) {
    auto a = A.tiled(1);
    auto b = B.tiled(1);
    for (auto [i] : b.tiles())
      b(i) = a(i) + 1;
  });
}

/// y = x, if the number is above 0.
inline Kernel guarded() {
  return Kernel("guarded(x[M,N], number[1]) -> y[M,N]",
                [](In<f32> X, In<i32, 1> number, Out<f32> Y) {
                  auto x = X.tiled(1, 64);
                  auto y = Y.tiled(1, 64);
                  for (auto [i, j] : y.tiles()) {
                    Index n = toIndex(number.read({0}));
                    require(n > 0, "the number is {}, expected 1 or more", {n});
                    y(i, j) = x(i, j) * 2;
                  }
                });
}

} // namespace ditron::testing_graphs
