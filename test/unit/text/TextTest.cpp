// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/text/Text.h"
#include "ditron/support/Error.h"
#include <csignal>
#include <gtest/gtest.h>

namespace ditron::text {
namespace {

std::string excessOf(const std::string &text) {
  auto excess = findExcess(text);
  return excess ? describe(*excess, "k.mlir") : "";
}

TEST(Text, HasLimits) {
  std::string deep(static_cast<size_t>(kDeepestNesting) + 1, '(');
  EXPECT_EQ(excessOf("a\n\n" + deep),
            "k.mlir:3: brackets nest more than 256 deep, expected at most that");
  EXPECT_EQ(excessOf(deep.substr(1)), "");
  EXPECT_EQ(excessOf(std::string("a\nb\0c", 5)),
            "k.mlir:2: holds a byte of value 0, expected text");
  EXPECT_EQ(excessOf(std::string(kMostBytes + 1, 'x')),
            "k.mlir: has 67108865 bytes, expected at most 67108864");
}

TEST(Text, CountsOnlyBrackets) {
  std::string many;
  for (int n = 0; n < 1000; ++n)
    many += "() -> (a <= b, c >= d) \"((((\\\"[[[[\" // {{{{<<<<\n";
  EXPECT_EQ(excessOf(many), "");
}

TEST(Text, IsJudgedByAChild) {
  auto reader = [](std::string_view text) -> std::string {
    if (text.find("crash") != std::string_view::npos)
      raise(SIGSEGV);
    return text.find("error") != std::string_view::npos ? "k.mlir:9:1: an error" : "";
  };
  EXPECT_NO_THROW(requireReadable("all is well", "k.mlir", reader));
  EXPECT_EQ(judge("an error", reader).error, "k.mlir:9:1: an error");
  EXPECT_THROW(requireReadable("an error", "k.mlir", reader), CompileError);
  Verdict verdict = judge("a\nb\na crash\nd\ne\n", reader);
  ASSERT_TRUE(verdict.hazard);
  EXPECT_EQ(verdict.hazard->line, 3U);
  EXPECT_EQ(judge("crash", reader).hazard->line, 1U);
}

} // namespace
} // namespace ditron::text
