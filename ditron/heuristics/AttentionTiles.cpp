// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/AttentionTiles.h"
#include "ditron/heuristics/Extents.h"

namespace ditron::heuristics {

/// The tile without regard to how many queries and keys there are.
static AttentionTile largest(const AttentionShape &shape, const DeviceTraits &target) {
  if (!target.isGpu())
    return {128, 256, tilesOf(shape.D, 16) * 16};
  constexpr int64_t kBytes = 8192; // of keys
  int64_t bytes = static_cast<int64_t>(byteSize(shape.type));
  int64_t d = fit(tilesOf(shape.D, 16) * 16, int64_t(1) << 30);
  bool byWarpgroups = target.hasWarpgroups && bytes == 2 && shape.D % 8 == 0 && d <= 128 &&
                      shape.T > 64 && shape.S > 64;
  if (byWarpgroups)
    return {128, 128, d};
  return {d <= 128 ? 64 : 32, std::clamp<int64_t>(kBytes / (d * bytes), 16, 64), d};
}

AttentionTile attentionTile(const AttentionShape &shape, const DeviceTraits &target) {
  auto [m, n, d] = largest(shape, target);
  return {fit(shape.T, m), fit(shape.S, n), d};
}

} // namespace ditron::heuristics
