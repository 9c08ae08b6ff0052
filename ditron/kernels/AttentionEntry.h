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

/// One query of one head, and what it sees: element d of the query, of the key (0) and of the value
/// (1) number j.
struct AttentionOf {
  std::function<double(int64_t d)> query;
  std::function<double(size_t which, int64_t j, int64_t d)> key;
  int64_t numKeys, elements;
  double scale;
  DType type, result; ///< of the operands, and of what is expected
};
/// softmax(scale * query * keys^T) * values, in some columns.
std::vector<Expected> attendedTo(const AttentionOf &one, std::span<const int64_t> columns);
/// The logarithm to base 2 of the sum of its weights, which are powers of e; the lowest number
/// without keys.
Expected attendedSize(const AttentionOf &one);

/// Where a key is: a row of k and v of a rank.
struct KeyPlace {
  int64_t rank, row;
};
/// A row of o: what a query sees of its sequence's keys, which `placeOf` finds by number.
std::vector<Expected> attended(const Case &run, const OutputRow &row,
                               const std::function<KeyPlace(int64_t)> &placeOf);

} // namespace ditron::kernels
