// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which memory TMA is asked to read; what it cannot is read another way.
#include "ditron/runtime/nvidia/TensorMap.h"
#include <gtest/gtest.h>

namespace ditron::runtime::nvidia {
namespace {

std::string whyNot(std::vector<int64_t> extents, std::vector<int64_t> strides,
                   uint64_t address = 4096, int64_t bytes = 2) {
  return TensorMap::whyNot({address, bytes, extents, strides});
}

TEST(TensorMap, TakesWhatIsAligned) {
  EXPECT_EQ(whyNot({128, 64}, {64, 1}), "");
  EXPECT_EQ(whyNot({67, 71}, {72, 1}), ""); // the extent may be odd, the stride not
  EXPECT_EQ(whyNot({2, 128, 64}, {8192, 64, 1}, 16), "");
  EXPECT_EQ(whyNot({128, 60}, {60, 1}, 4096, 4), "");
}

TEST(TensorMap, StridesOfSingleRowsSayNothing) {
  EXPECT_EQ(whyNot({1, 71}, {71, 1}), "");
  EXPECT_EQ(whyNot({4, 1, 64}, {64, 3, 1}), "");
  EXPECT_EQ(whyNot({128, 1}, {8, 5}), "");
}

TEST(TensorMap, SaysWhyNot) {
  EXPECT_EQ(whyNot({64}, {1}), "1 dimensions, expected 2 to 5");
  EXPECT_EQ(whyNot({128, 64}, {64, 1}, 4098), "it begins at 0x1002, expected a multiple of 16");
  EXPECT_EQ(whyNot({0, 64}, {64, 1}), "an extent of 0, expected 1 to 2147483647");
  EXPECT_EQ(whyNot({128, 64}, {1, 128}), "the last stride is 128, expected 1");
  EXPECT_EQ(whyNot({128, 71}, {71, 1}), "a stride of 142 bytes, expected a multiple of 16");
  EXPECT_EQ(whyNot({128, 64}, {32, 1}), "a stride of 64 bytes over 128: elements overlap");
  EXPECT_EQ(whyNot({128, 64}, {0, 1}), "a stride of 0 bytes over 128: elements overlap");
  EXPECT_EQ(whyNot({2, 64}, {-64, 1}), "a stride of -64 elements, expected 0 to 549755813887");
}

} // namespace
} // namespace ditron::runtime::nvidia
