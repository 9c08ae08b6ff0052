// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights in blocks of 32 along a row that share a scale, as GGUF has them, but each part of the
// blocks in a matrix of its own, so that rows are read on end:
//
//   q8-0   weight = q * scale            q[N,32*G] in i8, scales[N,G] in f16
//   q4-1   weight = q * scale + minimum  q[N,K/2]: byte i of a block has element i in its low four
//                                        bits and element i + 16 in its high ones; minima[N,G]
#pragma once
#include "ditron/kernels/Reference.h"
#include "ditron/kernels/kernels.h"
#include <optional>

namespace ditron::kernels {

inline constexpr int kBlock = 32; ///< weights with one scale

/// The views of packed weights.
struct PackedViews {
  View<i8, 2, Access::read> q;
  View<f16, 2, Access::read> scales;
  std::optional<View<f16, 2, Access::read>> minima;
};

/// Step `step` of k weights of n rows, of tile j of rows, in f32.
Tile unpacked(const PackedViews &views, WeightFormat format, int n, int k, Index j, Index step);

/// "W[2*N,16*G], scales[2*N,G], minima[2*N,G]" of what there is; of plain weights "W[2*N,K]".
std::string signatureOf(WeightFormat format, const std::string &name, const std::string &rows);
/// The terms of a product: "K", or 32 in each of G blocks.
std::string depthText(WeightFormat format);
int64_t depthOf(const Problem &problem, WeightFormat format);
/// The arguments of packed weights behind the first.
constexpr size_t moreArgumentsOf(WeightFormat format) {
  return format == WeightFormat::plain ? 0 : format == WeightFormat::q8_0 ? 1 : 2;
}
/// Element `k` of row `n` of weights that are argument `argument`.
double weightAt(const Inputs &inputs, WeightFormat format, int64_t rank, size_t argument, int64_t n,
                int64_t k);
/// An element of the argument itself: all bytes occur.
double packedInput(const Inputs &inputs, int64_t rank, size_t argument, int64_t element);
/// CompileError naming the kernel unless a step has whole blocks.
void checkBlocks(WeightFormat format, int k, const char *kernel);

} // namespace ditron::kernels
