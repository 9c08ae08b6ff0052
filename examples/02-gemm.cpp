// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lesson 2: a matrix product. Variables, loops, dot, element types, and device functions.
#include "Lesson.h"
using namespace ditron;

// The whole of a tiled matrix product. `Var` declares what changes: values of the language do not.
// range() is a loop of the compiled kernel; a loop over native ints would be unrolled instead.
Kernel gemm() {
  return Kernel("gemm(A[M,K], B[K,N]) -> C[M,N]", [](In<f32> A, In<f32> B, Out<f32> C) {
    auto a = A.tiled(64, 64), b = B.tiled(64, 64);
    auto c = C.tiled(64, 64);
    for (auto [i, j] : c.tiles()) { // the tiles of C dealt to this core
      Var acc = zeros<f32>(64, 64);
      for (auto k : range(a.cols()))
        acc += dot(a(i, k), b(k, j));
      c(i, j) = acc;
    }
  });
}

// The same for narrow inputs, as a library would write it. What may be chosen is in a struct of
// native ints; what is done to a tile is a function of its own. A device function is an ordinary
// C++ function, called while the kernel is traced.
struct GemmConfig {
  int m = 64, n = 64, k = 128;
};

/// Tile (i, j) of a * b, in f32: dot accumulates narrow floats in f32.
Tile product(const auto &a, Index i, const auto &b, Index j) {
  Var acc = zeros<f32>(a.height(), b.width());
  for (auto k : range(a.cols()))
    acc += dot(a(i, k), b(k, j));
  return acc;
}

Kernel halfGemm(GemmConfig t = {}) {
  return Kernel("half-gemm(A[M,K], B[K,N]) -> C[M,N]", [=](In<f16> A, In<f16> B, Out<f16> C) {
    auto a = A.tiled(t.m, t.k), b = B.tiled(t.k, t.n);
    auto c = C.tiled(t.m, t.n);
    // In which order tiles are dealt changes nothing but the use of the caches: here in groups of 4
    // rows of tiles, column after column.
    for (auto [i, j] : c.tiles(order::grouped(4)))
      c(i, j) = cast<f16>(product(a, i, b, j)); // no type changes unless you say so
  });
}

// Small integers: every product and sum below is exact, also in f16.
static double valueA(int64_t i, int64_t k) { return double((7 * i + 3 * k) % 5) - 2; }
static double valueB(int64_t k, int64_t j) { return double((5 * k + 11 * j) % 7) - 3; }

template <class T> static void multiply(Context &ctx, const Kernel &kernel) {
  const int64_t M = 100, N = 70, K = 130; // no multiples of anything
  Tensor A = ctx.tensor<T>({M, K}), B = ctx.tensor<T>({K, N}), C = ctx.tensor<T>({M, N});
  lesson::fill(A, valueA);
  lesson::fill(B, valueB);
  ctx.compile(kernel)(A, B, C);
  lesson::check(C, "C", [&](int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < K; ++k)
      sum += valueA(i, k) * valueB(k, j);
    return sum;
  });
}

int main() {
  return lesson::run("02-gemm", [] {
    Context ctx = Context::init({.cores = 2});
    multiply<f32>(ctx, gemm());
    multiply<f16>(ctx, halfGemm());
    multiply<f16>(ctx, halfGemm({.m = 16, .n = 32, .k = 16}));
  });
}
