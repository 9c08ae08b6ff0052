// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only one core puts and notifies, while every core waits for its own counter.
// Fixed by notifying for every core that waits.
#include "Kernels.h"

namespace ditron::corpus {

static Kernel broken() {
  return Kernel("broken(x[M,N]) -> y[M,N]", [](In<f32> x, Out<f32> y) {
    auto inbox = symmetric<f32>({x.rows(), x.cols()}, "inbox");
    auto arrived = signals(8, "arrived");
    auto next = (rank() + 1) % numRanks();
    when(coreId() == 0, [&] {
      put(x, inbox.on(next));
      notify(arrived.on(next)(coreId()));
    });
    wait(arrived(coreId()), 1); // EXPECT: lost-signal
    for (auto [i, j] : y.tiled(1, 4).tiles())
      y.tiled(1, 4)(i, j) = inbox.tiled(1, 4)(i, j);
  });
}

static Kernel fixed() {
  return Kernel("fixed(x[M,N]) -> y[M,N]", [](In<f32> x, Out<f32> y) {
    auto inbox = symmetric<f32>({x.rows(), x.cols()}, "inbox");
    auto arrived = signals(8, "arrived");
    auto next = (rank() + 1) % numRanks();
    when(coreId() == 0, [&] {
      put(x, inbox.on(next));
      for (auto core : range(numCores()))
        notify(arrived.on(next)(core));
    });
    wait(arrived(coreId()), 1);
    for (auto [i, j] : y.tiled(1, 4).tiles())
      y.tiled(1, 4)(i, j) = inbox.tiled(1, 4)(i, j);
  });
}

std::vector<Case> onlyOneCorePuts() {
  return {{broken(), {{"M", 2}, {"N", 4}}}, {fixed(), {{"M", 2}, {"N", 4}}}};
}

} // namespace ditron::corpus
