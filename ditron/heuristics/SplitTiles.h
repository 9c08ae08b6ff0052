// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose summed dimension is divided among cores, too.
//
// Where a product has fewer tiles than there are SMs, some SMs neither multiply nor read operands.
// With K in parts there are as many tiles again for each part, and their sums are to be added. The
// best number of parts is that of the least time, by a model: all SMs read at the memory's
// bandwidth, one of them has a limit of its own, each tile takes some time to begin and end, and each
// further part has its sums moved and added.
#pragma once
#include "ditron/heuristics/Calibration.h"
#include "ditron/heuristics/GemmTiles.h"

namespace ditron::heuristics {

/// A tile of C and of how many parts of K, and the seconds that the tiles take.
struct SplitTile {
  PairedTile tile;
  int64_t parts = 1;
  double seconds = 0;
};

/// Seconds that `tile` takes with K in `parts` parts, on all SMs of a GPU, sums added or not.
double splitSeconds(const GemmShape &shape, const PairedTile &tile, int64_t parts,
                    const DeviceTraits &target, const Calibration &calibration);

/// The tile and the number of parts, at most `mostParts`, that take least. `partSeconds`: what each part's sums take to be
/// moved and added. On CPUs, where
/// warpgroups do not multiply, and of other than 16-bit types, the tile of an undivided product.
SplitTile splitTile(const GemmShape &shape, const DeviceTraits &target, const GemmNeeds &needs,
                    const Calibration &calibration, double partSeconds,
                    int64_t mostParts = INT64_MAX);

/// Seconds in which all cores of a GPU copy both operands to rows of whole 16 bytes, and know it.
double packSeconds(const GemmShape &shape, const Calibration &calibration);

} // namespace ditron::heuristics
