// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stage is loaded again while the put of what it held may still read it.
// Fixed by a quiet before the stage is used again; or by a notify, which a receiver needs anyway.
#include "Kernels.h"

namespace ditron::corpus {

static Kernel kernelOf(const char *signature, bool isQuiet) {
  return Kernel(signature, [=](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(1, 4);
    auto ys = y.tiled(1, 4);
    auto inbox = symmetric<f32>({x.rows(), x.cols()}, "inbox");
    auto stage = symmetric<f32>({1, x.cols()}, "stage").tiled(1, 4);
    auto arrived = signals(1, "arrived");
    auto next = (rank() + 1) % numRanks();
    for (auto i : range(x.rows())) {
      stage(0, 0) = xs(i, 0);                             // EXPECT: unfinished-put
      put(stage(0, 0), inbox.on(next).tiled(1, 4)(i, 0)); // EXPECT: unfinished-put
      if (isQuiet)
        quiet();
    }
    notify(arrived.on(next)(0));
    wait(arrived(0), 1);
    for (auto [i, j] : ys.tiles())
      ys(i, j) = inbox.tiled(1, 4)(i, j);
  });
}

std::vector<Case> stageReloaded() {
  return {{kernelOf("broken(x[M,N]) -> y[M,N]", false), {{"M", 2}, {"N", 4}}, 1},
          {kernelOf("fixed(x[M,N]) -> y[M,N]", true), {{"M", 2}, {"N", 4}}, 1}};
}

} // namespace ditron::corpus
