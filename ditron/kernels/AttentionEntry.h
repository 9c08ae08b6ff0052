// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the entries of attention share: flash-attention of one rank, and ring-attention.
#pragma once
#include "ditron/kernels/Registry.h"
#include <functional>

namespace ditron::kernels {

KernelEntry flashAttentionEntry();

namespace attention {
/// The arguments, by number.
inline constexpr size_t kQ = 0, kK = 1, kV = 2, kQStarts = 3, kKStarts = 4, kScale = 5;
} // namespace attention

/// Cuts of T queries and of S keys into B sequences: element `element` of qStarts or kStarts.
double attentionStarts(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                       int64_t element);

/// Where a key is: a row of k and v of a rank.
struct KeyPlace {
  int64_t rank, row;
};
/// A row of o: what a query sees of its sequence's keys, which `placeOf` finds by number.
std::vector<Expected> attended(const Case &run, const OutputRow &row,
                               const std::function<KeyPlace(int64_t)> &placeOf);

} // namespace ditron::kernels
