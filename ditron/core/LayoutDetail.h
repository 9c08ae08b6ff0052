// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of lists of iters, shared by the files of the layout algebra.
#pragma once
#include "ditron/core/Layout.h"

namespace ditron::core::detail {

/// The iters of one axis with more than one digit.
Iters onAxis(const Iters &iters, Axis axis);
/// The product of the extents.
int64_t sizeOf(const Iters &iters);
/// The sum of the digits of `index` times their strides.
Coordinates sum(const Iters &iters, int64_t index);
/// The largest sum on an axis.
int64_t reach(const Iters &iters, Axis axis);
/// The unique list with the same map and the fewest iters.
Iters merged(const Iters &iters);
/// By axis, then by descending stride: an order in which sets of sums can be merged.
Iters sorted(Iters iters);
/// Whether, on one axis, each stride passes all that smaller strides reach: sums are then distinct.
bool isSeparated(Iters iters);

/// An iter and what one step of its digit is worth.
struct Digit {
  Iter iter;
  int64_t weight;
};
/// The worth of digits, all of one axis, that sum up to `value`, if some do.
std::optional<int64_t> decode(std::vector<Digit> digits, int64_t value);

} // namespace ditron::core::detail
