// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts of elements, bytes and extents are products of numbers that a user gave: this is the one
// multiplication for them, which knows when the result is none.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace ditron {

/// The product of extents, 1 of none. Nothing where one is below 0, or where the product of those
/// above 0 does not fit 63 bits: the strides of an empty array are numbers too.
std::optional<int64_t> checkedProduct(std::span<const int64_t> extents);
/// a * b; nothing where that does not fit, or where one is below 0.
std::optional<int64_t> checkedProduct(int64_t a, int64_t b);
/// a * b, or the largest size_t: for what is only compared with a limit.
size_t saturatingProduct(size_t a, size_t b);

} // namespace ditron
