// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/SplitTiles.h"
#include "ditron/heuristics/Extents.h"
#include "ditron/heuristics/WarpgroupTiles.h"
#include <algorithm>
#include <vector>

namespace ditron::heuristics {

namespace {

// Fitted to an H200.
constexpr double kTileSeconds = 1.5e-6;  ///< of a tile beside its steps: the first loads, the store
constexpr double kRoundSeconds = 3.5e-6; ///< of each further tile of an SM, where memory bounds all
constexpr double kSmBandwidth = 44e9;    ///< of what one SM reads from memory, bytes/s
constexpr double kSmCache = 75e9;        ///< of what one SM loads, from memory or cache, bytes/s
constexpr double kAllCache = 6000e9; ///< of what all SMs load of what few rows are multiplied with
constexpr double kOfCached = 0.25;   ///< what operands that others read too cost of that
constexpr int64_t kMostParts = 32;
constexpr int64_t kLeastTerms = 256; ///< of a part: fewer are not worth a tile's beginning

/// Seconds of one term of K in a tile. Where one row of tiles covers all rows, each SM reads its part
/// of B from memory, and A from the cache.
double termSeconds(const GemmShape &shape, const PairedTile &tile, const DeviceTraits &target,
                   const Calibration &calibration) {
  double m = double(tile.m), n = double(tile.n);
  double smFlops = calibration.flops / double(target.sms);
  double computed = 2 * (m * n + double(kTileEdge) * (m + n)) / smFlops;
  double element = double(byteSize(shape.type));
  double loaded = (m + n) * element / kSmCache;
  if (shape.M * shape.count <= tile.m)
    loaded = std::max(loaded, (kOfCached * m + n) * element / kSmBandwidth);
  return std::max(computed, loaded);
}

/// How often B is read from memory: products side by side read it one after the other.
double readsOfB(const GemmShape &shape) {
  int64_t bytes = shape.K * shape.N * int64_t(byteSize(shape.type));
  return bytes > kKeptBytes ? double(shape.count) : 1;
}

/// The tile of an undivided product, and others to try.
std::vector<PairedTile> tilesFor(const GemmShape &shape, const PairedTile &whole) {
  std::vector<PairedTile> result{whole};
  auto add = [&](int m, int64_t n) {
    PairedTile tile = whole;
    tile.m = m, tile.n = static_cast<int>(n), tile.pairs = Pairs::none;
    result.push_back(tile);
  };
  if (whole.m < kWarpgroupRows) {
    add(whole.m, 64), add(whole.m, 128);
    return result;
  }
  for (int m : {std::min(whole.m, 2 * kWarpgroupRows), whole.m})
    for (int64_t n = 64; n <= std::min<int64_t>(256, shape.N + 63); n += 32)
      if (m * n <= 128 * 256)
        add(m, n);
  return result;
}

} // namespace

double splitSeconds(const GemmShape &shape, const PairedTile &tile, int64_t parts,
                    const DeviceTraits &target, const Calibration &calibration) {
  int64_t items = tilesOf(shape.M, tile.m) * tilesOf(shape.N, tile.n) * parts * shape.count;
  double rounds = double(tilesOf(items, std::max<int64_t>(1, target.sms)));
  double terms = double(tilesOf(tilesOf(shape.K, tile.k), parts) * tile.k);
  double one = kTileSeconds + terms * termSeconds(shape, tile, target, calibration);
  double bytes = double(shape.K) * double(byteSize(shape.type)) *
                 (double(shape.M * shape.count) + readsOfB(shape) * double(shape.N));
  double read = kTileSeconds + bytes / calibration.memoryBandwidth;
  if (shape.M * shape.count <= kWarpgroupRows) // all that is loaded is new to the cache
    read = std::max(read, kTileSeconds + double(items) * terms * (tile.m + tile.n) *
                                             double(byteSize(shape.type)) / kAllCache);
  return std::max(rounds * one, read + (rounds - 1) * kRoundSeconds);
}

double packSeconds(const GemmShape &shape, const Calibration &calibration) {
  // Of memory's bandwidth, what copies of rows of single elements reach; and a signal to all cores.
  constexpr double kOfPacking = 0.3, kSignal = 2e-6;
  double bytes =
      2 * double(byteSize(shape.type)) * double(shape.K) * double(shape.M * shape.count + shape.N);
  return kSignal + bytes / (kOfPacking * calibration.memoryBandwidth);
}

SplitTile splitTile(const GemmShape &shape, const DeviceTraits &target, const GemmNeeds &needs,
                    const Calibration &calibration, double partSeconds, int64_t mostParts) {
  PairedTile whole = gemmTile(shape, target, needs);
  SplitTile best{whole, 1, 0};
  if (!target.isGpu() || !target.hasWarpgroups || byteSize(shape.type) != 2)
    return best;
  best.seconds = splitSeconds(shape, whole, 1, target, calibration) + partSeconds;
  int64_t most = std::clamp<int64_t>(shape.K / kLeastTerms, 1, std::min(mostParts, kMostParts));
  for (const PairedTile &tile : tilesFor(shape, whole))
    for (int64_t parts = 1; parts <= most; ++parts) {
      double seconds =
          splitSeconds(shape, tile, parts, target, calibration) + double(parts) * partSeconds;
      if (seconds < best.seconds)
        best = {tile, parts, seconds};
    }
  return best;
}

} // namespace ditron::heuristics
