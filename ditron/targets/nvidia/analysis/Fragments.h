// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles as the tensor cores want them: fragments of accumulators in registers, and panels of
// operands in shared memory.
#pragma once
#include "ditron/targets/gpu/analysis/Distribution.h"

namespace ditron::nvidia {

using gpu::Axis;
using gpu::Layout;
using gpu::Shape;

inline constexpr int64_t kLanes = 32;
inline constexpr int64_t kWarpgroup = 4;    ///< warps that multiply together
inline constexpr int64_t kSlicingWarps = 8; ///< of a kernel with products of few rows, in slices

/// Rows and columns of warps that share the 16x8 fragments, pairs side by side, of a matrix.
std::pair<int64_t, int64_t> fragmentGrid(const Shape &shape, int64_t warps);

/// The accumulator of a product in 16x8 fragments, each warp of the grid with a contiguous part.
/// Warps beyond the grid repeat the work of others.
Layout accumulator(const Shape &shape, int64_t warps);

/// The same for products of warpgroups: each of them has a contiguous part of the rows, in blocks
/// of 64 of which each of its warps has 16. The rows are a multiple of 16 a warp, the columns of 8.
Layout warpgroupAccumulator(const Shape &shape, int64_t warps);

/// Words of two 16-bit elements each, neighbours in a row, of a tile dealt as warpgroupAccumulator:
/// the left side of a product of warpgroups. `shape` is that of the words.
Layout warpgroupOperand(const Shape &shape, int64_t warps);

/// A product of n rows of W by few rows of x, in fragments of 16 by 8, whose rows of W are dealt to groups
/// of warps, and the terms of each row to the warps of a group, in slices (nvidia.sliced_dot). A lane has
/// what memory gives it in one access: 8 neighbouring terms of a row of W, or, where W is transposed in
/// memory, a term of 8 neighbouring rows. Which terms and which rows meet in an instruction does not matter,
/// as long as both sides and the sums agree. With fewer than 8 rows of x, lanes hold them several times. Up to 4
/// rows take two columns of a fragment each: one is multiplied with the even words of a row of W, which stand in the
/// upper 8 rows of the fragment, the other with the odd words, in the lower 8. Of more slices than there are warps each
/// warp has as many as the others, one behind the other.
struct SlicedShape {
  int64_t n, m, k;   ///< rows of W and of x, and terms
  int64_t slices;    ///< of the terms
  int64_t groups;    ///< of warps: slices * groups are all; 1 where slices are more than warps
  bool isTransposed; ///< rows of W are neighbours in memory

  /// Whether a row of x takes two columns.
  bool isByWords() const { return !isTransposed && m <= 4; }
  /// Rows that the lanes of a warp have at a time, and terms.
  int64_t rowsAtOnce() const { return isTransposed ? 64 : isByWords() ? 8 : 16; }
  int64_t termsAtOnce() const { return isTransposed ? 16 : 32; }
  /// How many times each, for all of a group's rows and of a slice's terms.
  int64_t blocks() const { return n / (groups * rowsAtOnce()); }
  int64_t steps() const { return k / (slices * termsAtOnce()); }
  /// Warps that have slices of a group's terms, and slices of one of them.
  int64_t slicingWarps() const { return slices < kSlicingWarps ? slices : kSlicingWarps; }
  int64_t slicesOfWarp() const { return slices / slicingWarps(); }
  /// Whether rows and terms can be dealt so.
  bool isEven() const {
    return n % (groups * rowsAtOnce()) == 0 && k % (slices * termsAtOnce()) == 0;
  }
};

Layout slicedWeights(const SlicedShape &shape); ///< n x k
Layout slicedFactor(const SlicedShape &shape);  ///< m x k
Layout slicedSums(const SlicedShape &shape);    ///< slices x n x m

/// Bytes of a row of a panel, and of its swizzle: what TMA and wgmma work with.
inline constexpr int64_t kPanelBytes = 128;

/// The tile in shared memory for TMA and for wgmma: panels of 128 bytes of every row,
/// one behind the other, each swizzled as sharedRows. The last dimension is a multiple of a panel,
/// the one before of 8.
Layout sharedPanels(const Shape &shape, int64_t elementBytes);

} // namespace ditron::nvidia
