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

} // namespace ditron::heuristics
