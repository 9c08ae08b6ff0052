// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Message.h"
#include <array>
#include <gtest/gtest.h>

using namespace ditron;

namespace {

TEST(Message, FillsInValues) {
  std::array<int64_t, 2> values{3, 2};
  EXPECT_EQ(fillIn("takes {} of {}", values), "takes 3 of 2");
  EXPECT_EQ(fillIn("{} {} {}", values), "3 2 {}");
  EXPECT_EQ(fillIn("nothing", values), "nothing");
}

TEST(Message, FormatsSeconds) {
  EXPECT_EQ(formatSeconds(0), "0");
  EXPECT_EQ(formatSeconds(4e-10), "0.0 us");
  EXPECT_EQ(formatSeconds(820.26e-6), "820.3 us");
  EXPECT_EQ(formatSeconds(999.96e-6), "1.000 ms");
  EXPECT_EQ(formatSeconds(151.918e-3), "151.9 ms");
  EXPECT_EQ(formatSeconds(0.99996), "1.000 s");
  EXPECT_EQ(formatSeconds(12.479), "12.48 s");
  EXPECT_EQ(formatSeconds(999.96), "1000 s");
}

TEST(Message, ControlCharactersAreBlanks) {
  EXPECT_EQ(withoutControls("a\x1b[31mb\r\x7f\nc\td \xc3\xa9"), "a [31mb  \nc\td \xc3\xa9");
}

} // namespace
