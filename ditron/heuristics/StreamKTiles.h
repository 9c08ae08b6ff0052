// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of few rows whose steps, of all tiles, are divided evenly among workers (stream-K): one
// worker an SM.
//
// Such a product takes as long as B takes to be read, and each SM is to read as much of it. What it
// takes more is one trip from SM to SM: a tile's sums meet in inboxes.
#pragma once
#include "ditron/heuristics/Calibration.h"
#include "ditron/heuristics/GemmTiles.h"
#include "ditron/heuristics/WarpgroupTiles.h"

namespace ditron::heuristics {

/// A tile of C, among how many workers the steps of all tiles are divided, and the seconds that it
/// takes. Without workers: the shape is none of few rows, or the target has no warpgroups.
struct StreamKTile {
  PairedTile tile;
  int64_t workers = 0;
  double seconds = 0;
};

/// The tile of a product whose `shape.M` times `shape.count` rows are multiplied together, at most
/// `mostRows` of them.
StreamKTile streamKTile(const GemmShape &shape, const DeviceTraits &target,
                        const Calibration &calibration, int64_t mostRows = kFewRows);

/// Seconds that `tile` takes with this number of workers.
double streamKSeconds(const GemmShape &shape, const PairedTile &tile, int64_t workers,
                      const DeviceTraits &target, const Calibration &calibration);

} // namespace ditron::heuristics
