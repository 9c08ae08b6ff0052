// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of products, as they are chosen.
#pragma once

namespace ditron::heuristics {

/// Which tiles of C the two CTAs of a pair take: neighbours in a column, which share what they read
/// of B, or in a row, which share A. Where CTAs cannot share (no clusters), it makes no difference.
enum class Pairs { none, rows, columns };

/// How a product C = A * B is cut.
struct GemmTile {
  int m = 64, n = 64, k = 64; ///< the tile of C, and how much of K a step takes
  int group = 8;              ///< rows of tiles walked together, for the caches
};

struct PairedTile : GemmTile {
  Pairs pairs = Pairs::none;
};

} // namespace ditron::heuristics
