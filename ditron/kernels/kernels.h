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

/// The tile of a kernel that works on whole rows. A row that fits the tile's width is read once.
struct RowConfig {
  int rows = 4, width = 1024;
};
/// softmax(x[T,H]) -> y[T,H]: y = exp(x - max) / sum(exp(x - max)) of each row. A row of nothing
/// but -infinity gives NaN.
Kernel softmax(DType type, const RowConfig &config = {});
/// rms-norm(x[T,H], w[H], eps) -> y[T,H]: y = x / sqrt(mean(x * x) + eps) * w of each row.
Kernel rmsNorm(DType type, const RowConfig &config = {});
/// silu-mul(x[T,2*H]) -> y[T,H]: y = silu(gate) * up, where gate is the left half of x and up the
/// right one.
Kernel siluMul(DType type, const RowConfig &config = {});

//===-- Moving data between ranks -------------------------------------------------------------===//

/// What moves, or is summed, at a time.
struct ChunkConfig {
  int rows = 16, columns = 4096;
};
/// all-gather(x[M,N]) -> y[R*M,N]: y is every rank's x, rank after rank.
Kernel allGather(DType type, const ChunkConfig &config = {});
/// reduce-scatter(x[R*M,N]) -> y[M,N]: y is the sum over the ranks of rows rank*M.. of their x.
Kernel reduceScatter(DType type, const ChunkConfig &config = {});

struct AllReduceConfig {
  ChunkConfig chunk;
  /// Every rank sums shards of the rows, then all gather them: less traffic, one more exchange. In
  /// one shot, every rank sends everything to all.
  bool twoShot = true;
};
/// all-reduce(x[M,N]) -> y[M,N]: y is the sum of every rank's x.
Kernel allReduce(DType type, const AllReduceConfig &config = {});
/// all-to-all(x[T,H], counts[R]) -> y[R*T,H], received[R]: the first counts[0] rows of x go to rank
/// 0, the next counts[1] to rank 1, and so on; rows from rank s arrive at y[s*T..], received[s] of
/// them, and the rest of that part is undefined. Counts are 0 or more, together at most T; what is
/// beyond is not sent.
Kernel allToAll(DType type, const ChunkConfig &config = {});

//===-- Products across ranks -----------------------------------------------------------------===//

struct FusedGemmConfig {
  GemmConfig tile;   ///< without bias and activation
  int commCores = 1; ///< cores that move data, of those of a rank
};
/// ag-gemm(A[M,K], B[K,N]) -> C[R*M,N]: the product of every rank's A with this rank's B, rows
/// multiplied while others are under way.
Kernel allGatherGemm(DType type, const FusedGemmConfig &config = {});
/// gemm-rs(A[R*M,K], B[K,N]) -> C[M,N]: the sum over the ranks of rows rank*M.. of their A * B; K
/// is the rank's part of the summed dimension. Sums travel in the accumulator's type.
Kernel gemmReduceScatter(DType type, const FusedGemmConfig &config = {});
/// gemm-ar(A[M,K], B[K,N]) -> C[M,N]: the sum of every rank's A * B; K is the rank's part.
Kernel gemmAllReduce(DType type, const FusedGemmConfig &config = {});

} // namespace ditron::kernels
