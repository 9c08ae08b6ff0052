// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights that do not lie in rows of numbers.
//
// In blocks of 32 along a row that share a scale, as GGUF has them, but each part of the blocks in a matrix of its
// own, so that rows are read on end:
//
//   q8-0   weight = q * scale            q[N,32*G] in i8, scales[N,G] in f16
//   q4-1   weight = q * scale + minimum  q[N,K/2]: byte i of a block has element i in its low four
//                                        bits and element i + 16 in its high ones; minima[N,G]
//
// Numbers in blocks of 8 rows by 32 terms, W[J,G,8,32]. In 16 bits such a block is 512 bytes behind one another, which the
// lanes of a warp read at once for a product of tensor cores, and each 8 rows are read on end. Blocks of q8-0 have their q so,
// and their scales behind one another, scales[J,8*G].
#pragma once
#include "ditron/kernels/Reference.h"
#include "ditron/kernels/kernels.h"
#include <optional>

namespace ditron::kernels {

inline constexpr int kBlock = 32;    ///< weights with one scale, or terms of a block of numbers
inline constexpr int kBlockRows = 8; ///< of a block of numbers

/// Whether weights are whole numbers with scales.
constexpr bool isPacked(WeightFormat format) {
  return format != WeightFormat::plain && format != WeightFormat::blocked;
}
/// Whether 8 rows by 32 terms lie behind one another.
constexpr bool isInBlocks(WeightFormat format) {
  return format == WeightFormat::blocked || format == WeightFormat::blockedQ8_0;
}

/// The views of packed weights.
struct PackedViews {
  View<i8, 2, Access::read> q;
  View<f16, 2, Access::read> scales;
  std::optional<View<f16, 2, Access::read>> minima;
};

/// Step `step` of k weights of n rows, of tile j of rows, in f32.
Tile unpacked(const PackedViews &views, WeightFormat format, int n, int k, Index j, Index step);

/// Step `step` of k weights of n rows, of tile j of rows, of weights in blocks of numbers.
template <class T>
Tile unblocked(const View<T, 4, Access::read> &view, int n, int k, Index j, Index step) {
  Tile blocks = view.tiled(n / kBlockRows, k / kBlock, kBlockRows, kBlock)(j, step, 0, 0);
  return reshape(transpose(blocks, {0, 2, 1, 3}), {n, k});
}

/// The views of weights in blocks of q8-0.
struct PackedBlocks {
  View<i8, 4, Access::read> q;
  View<f16, 2, Access::read> scales;
};
/// Step `step` of k weights of n rows, of tile j of rows, in f32.
Tile unpacked(const PackedBlocks &blocks, int n, int k, Index j, Index step);
/// The same block by block: q[k/32,n,32] in i8, and scales[k/32,1,n] in f32.
struct PackedTerms {
  Tile q, scales;
};
PackedTerms termsOf(const PackedBlocks &blocks, int n, int k, Index j, Index step);
/// Whether a product of m rows takes them so: tensor cores have few rows of a batch.
constexpr bool isByBlock(WeightFormat format, bool isLong, int64_t m) {
  constexpr int64_t kFewRows = 8;
  return format == WeightFormat::blockedQ8_0 && isLong && m <= kFewRows;
}

/// `times` times the rows of a product: "W[2*N,16*G], scales[2*N,G], minima[2*N,G]" of what there is; of plain
/// weights "W[2*N,K]".
std::string signatureOf(WeightFormat format, const std::string &name, int times = 1);
/// The rows of W, "N" or 8 in each of J blocks, and the terms of a product, "K" or 32 in each of G blocks.
std::string rowsText(WeightFormat format);
std::string depthText(WeightFormat format);
int64_t rowsOf(const Problem &problem, WeightFormat format);
int64_t depthOf(const Problem &problem, WeightFormat format);
/// The arguments of packed weights behind the first.
constexpr size_t moreArgumentsOf(WeightFormat format) {
  return !isPacked(format) ? 0 : format == WeightFormat::q4_1 ? 2 : 1;
}
/// Element `k` of row `n` of weights that are argument `argument`.
double weightAt(const Inputs &inputs, WeightFormat format, int64_t rank, size_t argument, int64_t n,
                int64_t k);
/// An element of the argument itself: all bytes occur.
double packedInput(const Inputs &inputs, int64_t rank, size_t argument, int64_t element);
/// CompileError naming the kernel unless a tile of n rows, and a step of k terms, have whole blocks.
void checkBlocks(WeightFormat format, int n, int k, const char *kernel);

} // namespace ditron::kernels
