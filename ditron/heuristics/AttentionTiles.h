// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/support/DType.h"
#include "ditron/support/DeviceTraits.h"
#include <cstdint>

namespace ditron::heuristics {

/// T queries and S keys of heads of D elements.
struct AttentionShape {
  int64_t T, S, D;
  DType type;
};

/// Queries of a tile, keys of a step, and elements of a head, padded.
struct AttentionTile {
  int64_t m, n, d;
};

/// Tiles whose operands and sums stay in a CPU core's second-level cache, or in the registers of a
/// CTA; where warpgroups multiply, with few enough scores for two tiles of them at a time.
AttentionTile attentionTile(const AttentionShape &shape, const DeviceTraits &target);

/// T queries that share a head of S keys: of a cache, or of a page of one. The tile, how many tiles of
/// keys are a part (0: all), whether they are multiplied by elements, and by how many warps.
struct DecodeTile {
  int64_t m, n, d, block = 0;
  bool byElements = false;
  int64_t warps = 4;
};
/// For `heads` heads of keys, of all sequences. Where warpgroups multiply, keys are as few parts as keep a GPU busy:
/// one where there are many heads.
DecodeTile decodeTile(const AttentionShape &shape, int64_t heads, const DeviceTraits &target);
/// The same where a page of S positions is a tile, and sequences have `pages` of them.
DecodeTile pagedTile(const AttentionShape &shape, int64_t heads, int64_t pages,
                     const DeviceTraits &target);
/// On a GPU few keys are a part, for there to be many CTAs, and no matter how many keys there are: what
/// is computed does not depend on it.
DecodeTile decodePartTile(const AttentionShape &shape, const DeviceTraits &target);
DecodeTile pagedPartTile(const AttentionShape &shape, const DeviceTraits &target);

/// Parts that are joined at a time, at most: they are read together, before it is known which have keys.
inline constexpr int kPartsAtATime = 32;
/// Where parts are joined: how many at a time, and the elements of a head, padded.
struct JoinTile {
  int64_t parts, d;
};
JoinTile joinTile(int64_t parts, int64_t D, const DeviceTraits &target);

} // namespace ditron::heuristics
