// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/Bandwidth.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include <algorithm>
#include <chrono>

using namespace ditron;

namespace generate {

/// The sum of each row.
template <class T> static Kernel readOf() {
  return {"read(x[M,N]) -> sums[M,1]", [](In<T> x, Out<f32> sums) {
            constexpr int kWidth = 2048;
            auto xs = x.tiled(1, kWidth);
            auto ys = sums.tiled(1, 1);
            for (auto [i, j] : ys.tiles()) {
              Var total = zeros<f32>(1, kWidth);
              for (auto k : range(ceilDiv(x.cols(), kWidth)))
                total += cast<f32>(Tile(xs(i, k)));
              ys(i, j) = sum(total, 1);
            }
          }};
}

double readBandwidth(const Context &ctx, const Tensor &matrix) {
  using Clock = std::chrono::steady_clock;
  constexpr int kPasses = 8;
  Program read = ctx.compile(
      kernels::Floats::dispatch(matrix.dtype(), "read", []<class T> { return readOf<T>(); }));
  Tensor sums = ctx.tensor<f32>({matrix.shape().front(), 1});
  double best = 0;
  for (int pass = 0; pass <= kPasses; ++pass) { // the first compiles
    ctx.sync();
    ctx.barrier();
    auto start = Clock::now();
    read(matrix, sums);
    ctx.sync();
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, pass ? double(matrix.bytes()) / seconds : 0);
  }
  return best;
}

} // namespace generate
