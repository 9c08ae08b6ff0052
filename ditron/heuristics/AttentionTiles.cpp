// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/AttentionTiles.h"
#include "ditron/heuristics/Extents.h"
#include "ditron/heuristics/WarpgroupTiles.h"

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

/// Keys of a part: as many as threads have registers for.
static int64_t keysOfPart(const AttentionShape &shape) {
  constexpr int64_t kBytes = 16384, kFewest = 16, kMost = 64;
  int64_t d = fit(tilesOf(shape.D, 16) * 16, INT64_MAX);
  return std::clamp(kBytes / (d * static_cast<int64_t>(byteSize(shape.type))), kFewest, kMost);
}

/// Whether the warps of a CTA share the products of few heads by as many keys: in slices of 16 keys, as
/// values of two groups of warps have them.
static bool fitsSlices(const AttentionShape &shape, int64_t width, const DeviceTraits &target) {
  constexpr int64_t kKeys = 64, kElements = 128, kFewHeads = 8;
  return target.hasWarpgroups && byteSize(shape.type) == 2 && shape.T <= kFewHeads &&
         width == kKeys && shape.D > kElements / 2 && shape.D <= kElements;
}

/// In tiles of `width` keys.
static DecodeTile onGpu(const AttentionShape &shape, int64_t width, const DeviceTraits &target) {
  constexpr int64_t kMostTiles = 8, kFewHeads = 8;
  int64_t d = fit(tilesOf(shape.D, 16) * 16, INT64_MAX), m = fit(shape.T, INT64_MAX);
  if (fitsSlices(shape, width, target))
    return {.m = m, .n = width, .d = d, .block = 1, .warps = 8};
  int64_t block = std::clamp<int64_t>(keysOfPart(shape) / width, 1, kMostTiles);
  return {m, width, d, block, shape.T <= kFewHeads};
}

DecodeTile decodePartTile(const AttentionShape &shape, const DeviceTraits &target) {
  if (target.isGpu())
    return onGpu(shape, keysOfPart(shape), target);
  auto [m, n, d] = attentionTile(shape, target);
  return {std::max<int64_t>(1, shape.T), n, d};
}

DecodeTile pagedPartTile(const AttentionShape &shape, const DeviceTraits &target) {
  int64_t n = fit(shape.S, INT64_MAX);
  if (target.isGpu())
    return onGpu(shape, n, target);
  constexpr int64_t kKeys = 256; // whose weights and values stay in the first-level cache
  return {std::max<int64_t>(1, shape.T), n, attentionTile(shape, target).d,
          std::max<int64_t>(1, kKeys / n)};
}

static constexpr int64_t kMostKeys = 128; ///< of a product of a warpgroup

/// Whether a warpgroup multiplies queries, of which a product has more rows than there are, by tiles of `width` keys
/// that TMA brings. It takes 1.1 us for 32 KB of keys and values on an H100: a third of the SMs read them at 60 % of the
/// memory's speed, two thirds at 90 %.
static bool fitsWarpgroup(const AttentionShape &shape, int64_t width, const DeviceTraits &target) {
  constexpr int64_t kPanel = 64, kMostElements = 128, kFewestKeys = 16;
  return target.hasWarpgroups && byteSize(shape.type) == 2 && shape.T <= kWarpgroupRows &&
         shape.D % kPanel == 0 && shape.D <= kMostElements && width >= kFewestKeys &&
         width <= kMostKeys && width == fit(width, kMostKeys);
}

/// As many parts as there are SMs, as a part costs about what two tiles do; fewer where a head has not as many tiles. One
/// where other SMs would take little off each: joining parts takes as long as reading some hundred keys.
static DecodeTile ofWarpgroup(const AttentionShape &shape, int64_t width, int64_t heads,
                              int64_t tiles, const DeviceTraits &target) {
  constexpr int64_t kKeysOfJoin = 320;
  int64_t parts = std::clamp<int64_t>(target.sms / heads, 1, tiles);
  if (width * (tiles - tilesOf(tiles, parts)) < kKeysOfJoin)
    parts = 1;
  return {.m = kWarpgroupRows,
          .n = width,
          .d = shape.D,
          .block = parts == 1 ? 0 : tilesOf(tiles, parts)};
}

DecodeTile decodeTile(const AttentionShape &shape, int64_t heads, const DeviceTraits &target) {
  if (!target.isGpu())
    return decodePartTile(shape, target);
  auto byWarpgroup = [&](int64_t mostKeys) {
    int64_t width = fit(shape.S, mostKeys);
    return ofWarpgroup(shape, width, heads, tilesOf(shape.S, width), target);
  };
  // Tiles of half as many keys make more parts, and two CTAs of whole heads have registers for them.
  bool areFew = 2 * heads * tilesOf(shape.S, kMostKeys) < target.sms;
  DecodeTile tile = byWarpgroup(kMostKeys);
  if (areFew || !tile.block)
    tile = byWarpgroup(kMostKeys / 2);
  return fitsWarpgroup(shape, tile.n, target) ? tile : decodePartTile(shape, target);
}

DecodeTile pagedTile(const AttentionShape &shape, int64_t heads, int64_t pages,
                     const DeviceTraits &target) {
  if (target.isGpu() && fitsWarpgroup(shape, shape.S, target))
    return ofWarpgroup(shape, shape.S, heads, pages, target);
  return pagedPartTile(shape, target);
}

JoinTile joinTile(int64_t parts, int64_t D, const DeviceTraits &target) {
  constexpr int64_t kElementsOfGpu = 4096, kPartsOfCpu = 8;
  int64_t d = fit(D, INT64_MAX);
  int64_t most =
      target.isGpu() ? std::clamp<int64_t>(kElementsOfGpu / d, 1, kPartsAtATime) : kPartsOfCpu;
  return {fit(parts, most), d};
}

} // namespace ditron::heuristics
