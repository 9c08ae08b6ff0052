// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/StreamKTiles.h"
#include "ditron/heuristics/Extents.h"
#include "ditron/heuristics/WarpgroupTiles.h"
#include <algorithm>

namespace ditron::heuristics {

namespace {

// Fitted to an H200.
constexpr double kBeginSeconds = 4e-6;  ///< the first loads, the trip to the owner, the store
constexpr double kSmBandwidth = 44e9;   ///< of what one SM reads from memory, bytes/s
constexpr double kSmCache = 75e9;       ///< of what one SM loads, from memory or cache, bytes/s
constexpr double kOfCached = 0.25;      ///< what A, which others read too, costs of that
constexpr int64_t kStepBytes = 1 << 15; ///< of B in a step: some steps are on their way at a time

/// Bytes of the sums that an owner takes from others.
double fragmentBytes(const GemmShape &shape, const PairedTile &tile, int64_t workers) {
  int64_t tiles = tilesOf(shape.M * shape.count, tile.m) * tilesOf(shape.N, tile.n);
  constexpr double kPacketOverhead = 4.0 / 3, kAccumulatorBytes = 4;
  return double(tilesOf(workers, tiles)) * tile.m * tile.n * kAccumulatorBytes * kPacketOverhead;
}

PairedTile tileFor(const GemmShape &shape, int64_t columns) {
  int64_t rows = shape.M * shape.count;
  PairedTile tile;
  tile.m = static_cast<int>(rows > kFewRows ? kWarpgroupRows : std::max<int64_t>(8, fit(rows, 32)));
  tile.n = static_cast<int>(columns);
  int64_t terms = kStepBytes / columns / static_cast<int64_t>(byteSize(shape.type));
  tile.k = static_cast<int>(fit(shape.K, terms));
  return tile;
}

} // namespace

double streamKSeconds(const GemmShape &shape, const PairedTile &tile, int64_t workers,
                      const DeviceTraits &target, const Calibration &calibration) {
  int64_t tiles = tilesOf(shape.M * shape.count, tile.m) * tilesOf(shape.N, tile.n);
  int64_t steps = tiles * tilesOf(shape.K, tile.k);
  int64_t rounds = tilesOf(workers, std::max<int64_t>(1, target.sms));
  double element = double(byteSize(shape.type));
  double terms = double(rounds * tilesOf(steps, workers) * tile.k);
  double one = terms * (kOfCached * tile.m + tile.n) * element / kSmBandwidth;
  double read = double(shape.K) * double(shape.N) * element / calibration.memoryBandwidth;
  return kBeginSeconds + std::max(one, read) + fragmentBytes(shape, tile, workers) / kSmCache;
}

StreamKTile streamKTile(const GemmShape &shape, const DeviceTraits &target,
                        const Calibration &calibration) {
  StreamKTile best;
  if (!target.hasWarpgroups || byteSize(shape.type) != 2 ||
      shape.M * shape.count > kWarpgroupRows || shape.K <= 32)
    return best;
  for (int64_t columns : {64, 128, 256}) {
    PairedTile tile = tileFor(shape, columns);
    int64_t steps = tilesOf(shape.N, columns) * tilesOf(shape.K, tile.k);
    int64_t workers = std::min(steps, std::max<int64_t>(1, target.sms));
    double seconds = streamKSeconds(shape, tile, workers, target, calibration);
    if (!best.workers || seconds < best.seconds)
      best = {tile, workers, seconds};
  }
  return best;
}

} // namespace ditron::heuristics
