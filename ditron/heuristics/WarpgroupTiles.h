// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of C for groups of four warps that multiply from shared memory. Their widths are free in
// steps of 8 columns, so one is looked for that gives all SMs as much to do.
#pragma once
#include "ditron/heuristics/GemmTiles.h"
#include <vector>

namespace ditron::heuristics {

/// Rows that one warpgroup multiplies.
inline constexpr int kWarpgroupRows = 64;
/// Up to this number of rows a product is computed with its operands swapped (swap-AB): few rows
/// become few columns.
inline constexpr int64_t kFewRows = 32;

/// What a row or column of a tile of 16-bit floats costs beside its elements, in elements: fitted to
/// the rates of tiles on an H200.
inline constexpr int64_t kTileEdge = 9;

class WarpgroupTiles {
public:
  WarpgroupTiles(const GemmShape &shape, const DeviceTraits &target, const GemmNeeds &needs);

  PairedTile best() const;

private:
  std::vector<int64_t> heights() const;
  bool comesEvenly(int64_t m, int64_t n) const;
  double costOf(int64_t m, int64_t n, int64_t groupRows, int64_t groupColumns) const;
  Pairs pairsFor(int64_t m, int64_t n) const;

  int64_t step_ = 8; ///< of widths
  int64_t rows_, columns_, count_, cores_, most_;
  bool isPromoted_ = false; ///< their fp8 products, part by part, to fp32
  bool mayPair_ = true;
  /// What a row or column of a tile costs beside its elements, and a part of it, in elements:
  /// fitted to the rates of tiles of 16-bit, and above of 8-bit floats on an H200.
  int64_t edge_ = kTileEdge, part_ = 0;
};

} // namespace ditron::heuristics
