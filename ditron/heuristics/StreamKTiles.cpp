// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/StreamKTiles.h"
#include "ditron/heuristics/Extents.h"
#include "ditron/heuristics/WarpgroupTiles.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace ditron::heuristics {

namespace {

// Fitted to an H200.
constexpr double kBeginSeconds = 1.5e-6;    ///< the first loads, the store
constexpr double kFragmentSeconds = 1.5e-6; ///< to take 32 x 128 sums of another worker
constexpr double kSmBandwidth = 57e9;       ///< of what one SM loads, bytes/s
constexpr double kCacheBandwidth = 6000e9;  ///< of what all SMs load, bytes/s
constexpr double kOfNarrow =
    1.3; ///< narrow rows of B that no neighbour reads at the same time cost this
constexpr int64_t kNarrow = 64;          ///< columns
constexpr int64_t kStepBytes = 48 << 10; ///< at most: some steps are on their way at a time

int64_t countOf(const GemmShape &shape, const PairedTile &tile) {
  return tilesOf(shape.M * shape.count, tile.m) * tilesOf(shape.N, tile.n);
}

/// Seconds in which the memory of the GPU gives all of B, and its cache what all SMs load.
double readSeconds(const GemmShape &shape, const PairedTile &tile, int64_t workers,
                   const Calibration &calibration) {
  double element = double(byteSize(shape.type)), tiles = double(countOf(shape, tile));
  double read = double(shape.K) * double(shape.N) * element / calibration.memoryBandwidth;
  double loaded = tiles * double(shape.K) * (tile.m + tile.n) * element / kCacheBandwidth;
  bool isAligned = workers % countOf(shape, tile) == 0; // all read the same rows at a time
  bool isNarrow = tile.n <= kNarrow && !shape.isKMajor;
  return std::max(read, loaded) * (isNarrow && !isAligned ? kOfNarrow : 1);
}

PairedTile tileFor(const GemmShape &shape, int64_t columns, int64_t mostRows) {
  PairedTile tile;
  tile.m = static_cast<int>(std::max<int64_t>(8, fit(shape.M * shape.count, mostRows)));
  tile.n = static_cast<int>(columns);
  auto terms = static_cast<size_t>(kStepBytes / (tile.m + columns)) / byteSize(shape.type);
  tile.k = static_cast<int>(fit(shape.K, static_cast<int64_t>(std::bit_floor(terms))));
  return tile;
}

} // namespace

double streamKSeconds(const GemmShape &shape, const PairedTile &tile, int64_t workers,
                      const DeviceTraits &target, const Calibration &calibration) {
  int64_t tiles = countOf(shape, tile), steps = tiles * tilesOf(shape.K, tile.k);
  int64_t rounds = tilesOf(workers, std::max<int64_t>(1, target.sms));
  double terms = double(rounds * tilesOf(steps, workers) * tile.k);
  double one = terms * (tile.m + tile.n) * double(byteSize(shape.type)) / kSmBandwidth;
  double fragments = double(tilesOf(workers, tiles) - 1) * std::sqrt(tile.m * tile.n / 4096.0);
  return kBeginSeconds + std::max(one, readSeconds(shape, tile, workers, calibration)) +
         fragments * kFragmentSeconds;
}

StreamKTile streamKTile(const GemmShape &shape, const DeviceTraits &target,
                        const Calibration &calibration, int64_t mostRows) {
  StreamKTile best;
  if (!target.hasWarpgroups || byteSize(shape.type) != 2 || shape.M * shape.count > mostRows ||
      shape.K <= 32)
    return best;
  int64_t sms = std::max<int64_t>(1, target.sms);
  for (int64_t columns : {64, 128, 256}) {
    PairedTile tile = tileFor(shape, columns, mostRows);
    int64_t tiles = countOf(shape, tile), steps = tiles * tilesOf(shape.K, tile.k);
    int64_t even = std::min(steps, sms / tiles * tiles); // as many for each tile
    for (int64_t workers : {even, std::min(steps, sms)}) {
      if (!workers)
        continue;
      double seconds = streamKSeconds(shape, tile, workers, target, calibration);
      if (!best.workers || seconds < best.seconds)
        best = {tile, workers, seconds};
    }
  }
  return best;
}

} // namespace ditron::heuristics
