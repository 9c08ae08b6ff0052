// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Hash.h"
#include <gtest/gtest.h>
#include <set>
#include <string>

using namespace ditron;

TEST(Hash, IsTheKnownHash) { // so that keys on disk mean the same on every machine
  EXPECT_EQ(hexDigest(""), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, EveryByteCounts) {
  std::set<std::string> seen;
  for (int length = 0; length < 600; ++length) {
    std::string bytes(length, '\0');
    EXPECT_TRUE(seen.insert(hexDigest(bytes)).second);
    if (length > 0) {
      bytes[length / 2] = 1;
      EXPECT_TRUE(seen.insert(hexDigest(bytes)).second);
    }
  }
  for (const std::string &digest : seen)
    EXPECT_EQ(digest.size(), 32u);
}

TEST(Hash, FieldBordersCount) {
  auto of = [](auto... fields) {
    Hasher hasher;
    (hasher.add(fields), ...);
    return hasher.hex();
  };
  EXPECT_EQ(of("ir", "sm_90a"), of("ir", "sm_90a"));
  EXPECT_NE(of("ab", "c"), of("a", "bc"));
  EXPECT_NE(of("ab"), of("ab", ""));
  EXPECT_NE(of("a", "b"), of("b", "a"));
}
