// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

namespace ditron::heuristics {

/// The smallest power of two that covers `extent`, at most `most`: the extent of a tile.
inline int64_t fit(int64_t extent, int64_t most) {
  return std::min(most, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent))));
}

/// How many tiles of `size` cover `extent`.
inline int64_t tilesOf(int64_t extent, int64_t size) { return (extent + size - 1) / size; }

} // namespace ditron::heuristics
