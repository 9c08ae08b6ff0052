// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lesson 10: kernels of one device, placed on many.
//
// A tensor-parallel MLP: y = x + relu(x * up + bias) * down. Every rank has M rows of x, its own H
// columns of up and its own H rows of down. Two products, and two transfers, each of which runs
// beside its product:
//
//     h = relu(all rows of x * up + bias)      x is gathered
//     y = x + the sum over ranks of h * down   y is summed, each rank's rows on that rank
//
// Lesson 5 writes such a transfer by hand. Here the kernels are the product of one device, and
// distribute() says where their arguments live.
#include "Lesson.h"
using namespace ditron;

static double valueX(int64_t row, int64_t k) { return double((7 * row + 3 * k) % 5) - 2; }
static double valueUp(int64_t k, int64_t h) { return double((5 * k + 11 * h) % 7) - 3; }
static double valueDown(int64_t h, int64_t n) { return double((2 * h + 3 * n) % 3) - 1; }
static double valueBias(int64_t h) { return double(h % 4); }

/// gemm(A[M,K], B[K,N], bias[N]) -> C[R*M,N]: rows of A travel while others are multiplied.
Kernel firstHalf() {
  kernels::GemmConfig config;
  config.m = 32, config.n = 64, config.k = 32;
  config.bias = true;
  config.activation = kernels::Activation::relu;
  return distribute(kernels::gemm(DType::f32, config), {{"A", gathered(0)}});
}

/// gemm(A[R*M,K], B[K,N], residual[M,N]) -> C[M,N]: products for other ranks leave first, and the
/// rank that owns the rows adds them, and the residual, once.
Kernel secondHalf() {
  kernels::GemmConfig config;
  config.m = 32, config.n = 64, config.k = 32;
  config.residual = true;
  return distribute(kernels::gemm(DType::f32, config), {{"C", reduceScattered(0)}});
}

// What follows from the placements:
//
// The signature. Whatever shares its name with a gathered extent has R times as much of it.
//
// The verbs. `firstHalf().dump()` prints the product as it was written, with a mark on A. What runs
// is what the passes dist-place-arguments and dist-place-results make of it: roles, puts, notifies
// and waits as in lesson 5. `ditron compile ag-gemm --config form=placed --emit ir` shows them.
//
// The refusals. A loop whose steps depend on one another cannot take parts of its input in another
// order, and a result that is no sum has nothing to add. distribute() says so, at this line and that
// of the loop.

int main() {
  return lesson::run("10-placement", [] {
    runRanks({.ranks = 3, .cores = 2}, [](Context &ctx) {
      const int64_t M = 41, K = 50, H = 37, R = ctx.ranks();
      const int64_t firstRow = ctx.rank() * M, firstColumn = ctx.rank() * H;
      Tensor x = ctx.tensor<f32>({M, K}), up = ctx.tensor<f32>({K, H});
      Tensor bias = ctx.tensor<f32>({H}), h = ctx.tensor<f32>({R * M, H});
      Tensor down = ctx.tensor<f32>({H, K}), y = ctx.tensor<f32>({M, K});
      lesson::fill(x, [&](int64_t i, int64_t k) { return valueX(firstRow + i, k); });
      lesson::fill(up, [&](int64_t k, int64_t j) { return valueUp(k, firstColumn + j); });
      lesson::fill(bias, [&](int64_t, int64_t j) { return valueBias(firstColumn + j); });
      lesson::fill(down, [&](int64_t j, int64_t n) { return valueDown(firstColumn + j, n); });

      Program first = ctx.compile(firstHalf()), second = ctx.compile(secondHalf());
      for (int layer = 0; layer < 2; ++layer) { // back to back, with no barrier between them
        first(x, up, bias, h);
        second(h, down, x, y);
      }

      auto hidden = [&](int64_t row, int64_t j) {
        double sum = valueBias(j);
        for (int64_t k = 0; k < K; ++k)
          sum += valueX(row, k) * valueUp(k, j);
        return std::max(sum, 0.0);
      };
      lesson::check(y, "y", [&](int64_t i, int64_t n) {
        double sum = valueX(firstRow + i, n);
        for (int64_t j = 0; j < R * H; ++j)
          sum += hidden(firstRow + i, j) * valueDown(j, n);
        return sum;
      });
    });
  });
}
