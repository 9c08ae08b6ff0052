// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One cumulative counter for several chunks. Two cores put a row each and add to it; who waits for
// 1 takes the first row to be there, but it may be the second that came. Fixed by a counter for
// each chunk.
#include "Kernels.h"

namespace ditron::corpus {

static Kernel broken() {
  return Kernel("broken(x[M,N]) -> y[M,N]", [](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(1, 4);
    auto ys = y.tiled(1, 4);
    auto inbox = symmetric<f32>({x.rows(), x.cols()}, "inbox");
    auto arrived = signals(1, "arrived");
    auto next = (rank() + 1) % numRanks();
    for (auto [i, j] : xs.tiles()) {
      put(xs(i, j), inbox.on(next).tiled(1, 4)(i, j)); // EXPECT: wrong-notifier
      notify(arrived.on(next)(0));
    }
    for (auto [i, j] : ys.tiles()) {
      wait(arrived(0), i + 1);            // EXPECT: wrong-notifier
      ys(i, j) = inbox.tiled(1, 4)(i, j); // EXPECT: wrong-notifier
    }
  });
}

static Kernel fixed() {
  return Kernel("fixed(x[M,N]) -> y[M,N]", [](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(1, 4);
    auto ys = y.tiled(1, 4);
    auto inbox = symmetric<f32>({x.rows(), x.cols()}, "inbox");
    auto arrived = signals(x.rows(), "arrived");
    auto next = (rank() + 1) % numRanks();
    for (auto [i, j] : xs.tiles()) {
      put(xs(i, j), inbox.on(next).tiled(1, 4)(i, j));
      notify(arrived.on(next)(i));
    }
    for (auto [i, j] : ys.tiles()) {
      wait(arrived(i), 1);
      ys(i, j) = inbox.tiled(1, 4)(i, j);
    }
  });
}

std::vector<Case> oneCounter() {
  return {{broken(), {{"M", 2}, {"N", 4}}}, {fixed(), {{"M", 2}, {"N", 4}}}};
}

} // namespace ditron::corpus
