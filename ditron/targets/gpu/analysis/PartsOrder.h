// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the parts of warps, which all of them combine, lie in shared memory.
#pragma once
#include "ditron/targets/gpu/analysis/Distribution.h"

namespace ditron::gpu {

/// From one element to the next, and from one warp to the next, in items; and how many items have padding behind
/// them (0: none has).
struct PartsOrder {
  static constexpr int64_t kItemBytes = 4;
  static constexpr int64_t kPadding = 4; ///< items, for what stands behind to be aligned
  static constexpr int64_t kPadded = 32; ///< the fewest that have it behind them

  int64_t element, warp, padded = 0;
  /// Neighbours among registers, and among warps, that one access takes: one of the two is 1.
  int64_t registers = 1, warps = 1;

  int64_t place(int64_t item) const { return padded ? item + item / padded * kPadding : item; }
};

/// Items with all padding that an order may have.
int64_t withPadding(int64_t items);

/// What warps have of an element stands together, or what a warp has of all elements: the order in which threads leave
/// their parts of a tile as they hold it, `left`, and collect those of all warps as they hold `result`, in the fewest
/// passes through the banks.
PartsOrder chooseOrder(const Distribution &left, const Distribution &result, int64_t warps,
                       int64_t lanes);

} // namespace ditron::gpu
