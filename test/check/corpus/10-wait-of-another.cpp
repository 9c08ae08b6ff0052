// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One core waits, and others read what it waited for: the wait orders only the core that waits.
// Fixed by a barrier between, which hands on what the one has seen.
#include "Kernels.h"

namespace ditron::corpus {

static Kernel kernelOf(const char *signature, bool hasBarrier) {
  return Kernel(signature, [=](In<f32> x, Out<f32> y) {
    auto ys = y.tiled(1, 4);
    auto inbox = symmetric<f32>({x.rows(), x.cols()}, "inbox");
    auto arrived = signals(1, "arrived");
    auto next = (rank() + 1) % numRanks();
    when(coreId() == 0, [&] {
      put(x, inbox.on(next)); // EXPECT: data-race
      notify(arrived.on(next)(0));
      wait(arrived(0), 1);
    });
    if (hasBarrier)
      barrier();
    for (auto [i, j] : ys.tiles())
      ys(i, j) = inbox.tiled(1, 4)(i, j); // EXPECT: data-race
  });
}

std::vector<Case> waitOfAnother() {
  return {{kernelOf("broken(x[M,N]) -> y[M,N]", false), {{"M", 2}, {"N", 4}}},
          {kernelOf("fixed(x[M,N]) -> y[M,N]", true), {{"M", 2}, {"N", 4}}}};
}

} // namespace ditron::corpus
