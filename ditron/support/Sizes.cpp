// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Sizes.h"
#include <algorithm>
#include <limits>

namespace ditron {

std::optional<int64_t> checkedProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product))
    return std::nullopt;
  return product;
}

std::optional<int64_t> checkedProduct(std::span<const int64_t> extents) {
  std::optional<int64_t> product = 1;
  bool isEmpty = false;
  for (int64_t extent : extents) {
    if (extent < 0 || !product)
      return std::nullopt;
    isEmpty |= extent == 0;
    product = checkedProduct(*product, std::max<int64_t>(extent, 1));
  }
  return isEmpty && product ? 0 : product;
}

size_t saturatingProduct(size_t a, size_t b) {
  size_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<size_t>::max() : product;
}

} // namespace ditron
