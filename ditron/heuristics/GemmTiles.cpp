// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/GemmTiles.h"
#include "ditron/heuristics/CpuGemmTiles.h"
#include "ditron/heuristics/Extents.h"
#include "ditron/heuristics/WarpgroupTiles.h"
#include <cmath>
#include <limits>

namespace ditron::heuristics {

/// Whether warpgroups multiply it: they need terms enough, and rows of whole 16 bytes.
static bool isForWarpgroups(const GemmShape &shape, const DeviceTraits &target,
                            const GemmNeeds &needs) {
  int64_t bytes = static_cast<int64_t>(byteSize(shape.type));
  bool isExact = !isFloat(shape.type);
  bool isType = bytes == 2 || (shape.isKMajor && bytes == 1 && !isExact && needs.isFast) ||
                (shape.isKMajor && shape.M > kFewRows && (isExact || needs.isFast));
  return isType && target.hasWarpgroups && shape.K > 32 && shape.K * bytes % 16 == 0 &&
         shape.N * bytes % 16 == 0;
}

/// Terms of a step: rows of 128 bytes, but 64 terms of 8-bit floats that are widened; where memory
/// is waited for, few large steps.
static int64_t stepOf(const GemmShape &shape, bool byWarpgroups, int m) {
  int64_t bytes = static_cast<int64_t>(byteSize(shape.type));
  if (byWarpgroups && bytes == 4)
    return 32;
  if (byWarpgroups && bytes == 2 && m < kWarpgroupRows)
    return 256;
  return bytes == 1 && (byWarpgroups || !isFloat(shape.type)) ? 128 : 64;
}

/// 128 x 128 or less where products are those of warps.
static PairedTile gpuGemmTile(const GemmShape &shape, const DeviceTraits &target,
                              const GemmNeeds &needs) {
  bool byWarpgroups = isForWarpgroups(shape, target, needs);
  PairedTile tile;
  if (byWarpgroups) {
    tile = WarpgroupTiles(shape, target, needs).best();
  } else {
    tile.m = static_cast<int>(fit(shape.M, 128));
    tile.n = static_cast<int>(fit(shape.N, 128));
  }
  tile.k = static_cast<int>(fit(shape.K, stepOf(shape, byWarpgroups, tile.m)));
  // Code generators keep the many values of erf in registers where the sums of a thread are no
  // power of two.
  if (needs.epilogue.isErf && tile.m * tile.n > 128 * 64)
    tile.m = 128, tile.n = 144, tile.pairs = Pairs::none;
  return tile;
}

PairedTile gemmTile(const GemmShape &shape, const DeviceTraits &target, const GemmNeeds &needs) {
  return target.isGpu() ? gpuGemmTile(shape, target, needs) : cpuGemmTile(shape);
}

/// Where warpgroups multiply, the tile by which the most loaded CTA has the least to do: half a
/// tile of rows is wasted a group, and each tile takes the time of kTermsOfTile terms beside its
/// own, as measured on an H200.
static void balance(GemmTile &tile, const GemmShape &shape, int64_t groups,
                    const DeviceTraits &target) {
  constexpr double kTermsOfTile = 12.5e6;
  double least = std::numeric_limits<double>::infinity();
  for (int m : {128, 256})
    for (int n = 256; n >= 64; n -= 8) {
      double tiles = (double(shape.M) / m + double(groups) / 2) * std::ceil(double(shape.N) / n);
      double terms = double(m) * n * double(shape.K) + kTermsOfTile;
      double cost = std::ceil(tiles / double(target.sms)) * terms;
      if (m * n > target.accumulator || cost >= least)
        continue;
      least = cost;
      tile.m = m, tile.n = n;
    }
}

GemmTile groupedGemmTile(const GemmShape &shape, int64_t groups, const DeviceTraits &target) {
  GemmShape group = shape;
  group.M = std::max<int64_t>(1, shape.M / groups);
  GemmTile tile = gemmTile(group, target);
  if (target.hasWarpgroups && byteSize(shape.type) == 2 && shape.N % 8 == 0 && shape.K % 8 == 0 &&
      shape.N > 128 && shape.K > 32 && group.M > kWarpgroupRows)
    balance(tile, shape, groups, target);
  return tile;
}

} // namespace ditron::heuristics
