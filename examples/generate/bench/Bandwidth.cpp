// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/Bandwidth.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "model/Library.h"
#include <algorithm>
#include <chrono>
#include <functional>

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

/// The best of several times of a few passes over so many bytes. What the host takes to launch one, and to wait, is
/// hidden by those in front of it.
static double bandwidthOf(const Context &ctx, int64_t bytes, const std::function<void()> &pass) {
  using Clock = std::chrono::steady_clock;
  constexpr int kTimes = 3, kPasses = 4;
  double best = 0;
  pass(); // compiles
  for (int n = 0; n < kTimes; ++n) {
    ctx.sync();
    ctx.barrier();
    auto start = Clock::now();
    for (int k = 0; k < kPasses; ++k)
      pass();
    ctx.sync();
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, kPasses * double(bytes) / seconds);
  }
  return best;
}

/// Numbers of as many bytes as a packed matrix has.
static Matrix numbersLike(const Context &ctx, const Matrix &packed) {
  int64_t rows = packed.rows, columns = int64_t(packed.values.bytes()) / (2 * rows);
  return {.values = ctx.tensor<bf16>({rows, columns}), .rows = rows, .columns = columns};
}

double readBandwidth(const Context &ctx, const Matrix &matrix) {
  if (!matrix.isOfNumbers())
    return readBandwidth(ctx, numbersLike(ctx, matrix));
  const Tensor &values = matrix.values;
  auto bytes = int64_t(values.bytes());
  Program read = ctx.compile(
      kernels::Floats::dispatch(values.dtype(), "read", []<class T> { return readOf<T>(); }));
  Tensor sums = ctx.tensor<f32>({values.shape().front(), 1});
  double ofSums = bandwidthOf(ctx, bytes, [&] { read(values, sums); });
  Library library(ctx);
  Program multiply = ctx.compile(library.product(matrix, 1, {}));
  Tensor row = Tensor::own(DType::f32, {1, values.shape().back()});
  std::fill_n(row.as<float>(), row.elements(), 1.F);
  Tensor x = ctx.tensorFrom(row);
  Tensor y = ctx.tensor<f32>({1, values.shape().front()});
  return std::max(ofSums, bandwidthOf(ctx, bytes, [&] { multiply(x, values, y); }));
}

} // namespace generate
