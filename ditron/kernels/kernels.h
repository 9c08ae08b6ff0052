// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel library: functions that make kernels. A kernel is a value: compile it with a Context
// and launch it. Element types are those of the inputs; the signature in front of each function is
// the kernel's. Sums and products accumulate in f32 (integers in i32), also across ranks, and in
// a fixed order: results are bitwise the same run after run.
#pragma once
#include "ditron/lang/Kernel.h"

namespace ditron::kernels {

//===-- One device ----------------------------------------------------------------------------===//

struct VectorAddConfig {
  int tile = 1024; ///< elements
};
/// vector-add(x[N], y[N]) -> z[N]: z = x + y.
Kernel vectorAdd(DType type, const VectorAddConfig &config = {});

/// What is applied to a product before it is rounded: gelu is the one with erf.
enum class Activation { none, relu, silu, gelu };

struct GemmConfig {
  int m = 64, n = 64, k = 64; ///< the tile of C, and how much of K a step takes
  int group = 8;              ///< rows of tiles walked together, for the caches
  bool bias = false;          ///< adds bias[N]
  Activation activation = Activation::none;
};
/// gemm(A[M,K], B[K,N]) -> C[M,N], or gemm(A[M,K], B[K,N], bias[N]) -> C[M,N]: activation(A * B +
/// bias). C is of i32 for i8, of bf16 for 8-bit floats, else of A's type. Integers take neither
/// bias nor activation.
Kernel gemm(DType type, const GemmConfig &config = {});
/// batched-gemm(A[B,M,K], W[B,K,N]) -> C[B,M,N]: B products side by side, with bias[N] as above.
Kernel batchedGemm(DType type, const GemmConfig &config = {});

} // namespace ditron::kernels
