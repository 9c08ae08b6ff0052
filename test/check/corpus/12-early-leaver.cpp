// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A worker that is out of work leaves, and with it the barrier of the others is one short.
// Fixed by rounds that all take part in, with or without work.
#include "Kernels.h"

namespace ditron::corpus {

static Kernel broken() {
  return Kernel("broken(x[M,N]) -> y[M,N]", [](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(1, 4);
    auto ys = y.tiled(1, 4);
    for (auto i : range(coreId(), x.rows(), numCores())) {
      ys(i, 0) = xs(i, 0);
      barrier(); // EXPECT: divergent-barrier
    }
  });
}

static Kernel fixed() {
  return Kernel("fixed(x[M,N]) -> y[M,N]", [](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(1, 4);
    auto ys = y.tiled(1, 4);
    for (auto first : range(0, x.rows(), numCores())) {
      auto i = first + coreId();
      when(i < x.rows(), [&] { ys(i, 0) = xs(i, 0); });
      barrier();
    }
  });
}

std::vector<Case> earlyLeaver() {
  return {{broken(), {{"M", 3}, {"N", 4}}}, {fixed(), {{"M", 3}, {"N", 4}}}};
}

} // namespace ditron::corpus
