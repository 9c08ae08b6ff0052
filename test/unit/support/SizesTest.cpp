// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Sizes.h"
#include <gtest/gtest.h>
#include <vector>

namespace ditron {
namespace {

std::optional<int64_t> product(std::vector<int64_t> extents) { return checkedProduct(extents); }

TEST(Sizes, MultiplyOrSayThatThereIsNoProduct) {
  EXPECT_EQ(product({}), 1);
  EXPECT_EQ(product({3, 4, 5}), 60);
  EXPECT_EQ(product({3, 0, 5}), 0);
  EXPECT_EQ(product({3, -1}), std::nullopt);
  EXPECT_EQ(product({0, -1}), std::nullopt);
  EXPECT_EQ(product({int64_t(1) << 32, int64_t(1) << 32}), std::nullopt);
  EXPECT_EQ(product({0, int64_t(1) << 32, int64_t(1) << 32}), std::nullopt); // nor have its strides
  EXPECT_EQ(product({INT64_MAX, 1}), INT64_MAX);
  EXPECT_EQ(checkedProduct(int64_t(-1), int64_t(2)), std::nullopt);
  EXPECT_EQ(saturatingProduct(SIZE_MAX / 2, 3), SIZE_MAX);
  EXPECT_EQ(saturatingProduct(6, 7), 42U);
}

} // namespace
} // namespace ditron
