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
inline constexpr int64_t kWarpgroup = 4; ///< warps that multiply together

/// Rows and columns of warps that share the 16x8 fragments, pairs side by side, of a matrix: as
/// many of `warps` as split it evenly, their parts as square as they get.
std::pair<int64_t, int64_t> warpGrid(const Shape &shape, int64_t warps);

/// The accumulator of a product in 16x8 fragments, each warp of the grid with a contiguous part.
/// Warps beyond the grid repeat the work of others.
Layout accumulator(const Shape &shape, int64_t warps);

/// The same for products of warpgroups: each of them has a contiguous part of the rows, in blocks
/// of 64 of which each of its warps has 16. The rows are a multiple of 16 a warp, the columns of 8.
Layout warpgroupAccumulator(const Shape &shape, int64_t warps);

/// Words of two 16-bit elements each, neighbours in a row, of a tile dealt as warpgroupAccumulator:
/// the left side of a product of warpgroups. `shape` is that of the words.
Layout warpgroupOperand(const Shape &shape, int64_t warps);

/// The tiles of a product whose terms are sliced over the warps (nvidia.sliced_dot), in fragments of
/// 16 rows of W by 8 rows of x. A lane has 8 neighbouring terms of a row at a time: which of them the
/// tensor cores meet first does not matter, as long as it is the same on both sides. With fewer than 8
/// rows of x, lanes hold them several times.
struct SlicedShape {
  int64_t n, m, k; ///< rows of W and of x, and terms
  int64_t slices;  ///< one a warp
};
inline constexpr int64_t kSlicedTerms = 32; ///< that the lanes of a warp have at a time

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
