// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extents: what their text means, and what is refused of a text and of a launch.
#include "ditron/abi/Extent.h"
#include "ditron/abi/Symmetric.h"
#include "ditron/support/Error.h"
#include <gtest/gtest.h>
#include <limits>

using namespace ditron;
using namespace ditron::abi;

namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(),
                  kMost = std::numeric_limits<int64_t>::max();

/// A[M,K], an index n, and a float.
const std::vector<Argument> kArguments = {{"A", ArgumentKind::view, DType::f16, 2},
                                          {"n", ArgumentKind::index, DType::i64, 0},
                                          {"s", ArgumentKind::scalar, DType::f32, 0}};

int64_t valueOf(const std::string &text, int64_t n = 0) {
  std::vector<int64_t> words{0, 300, 70, 70, 1, n, 0};
  return Extent(text, kArguments).evaluate({words, 4}, "symmetric 'full'");
}

template <class Problem> std::string problemOf(const std::string &text, int64_t n = 0) {
  try {
    valueOf(text, n);
  } catch (const Problem &problem) {
    return problem.what();
  }
  return "no error";
}

TEST(Extent, Evaluates) {
  EXPECT_EQ(valueOf("17"), 17);
  EXPECT_EQ(valueOf("-17"), -17);
  EXPECT_EQ(valueOf("n"), 4);
  EXPECT_EQ(valueOf("a0.0"), 300);
  EXPECT_EQ(valueOf("a0.1"), 70);
  EXPECT_EQ(valueOf("a1", 9), 9);
  EXPECT_EQ(valueOf("a0.0 128 ceildiv n mul"), 12);
  EXPECT_EQ(valueOf("a1 0 lt 0 a1 select", -3), 0);
  EXPECT_EQ(valueOf("a1 0 lt 0 a1 select", 3), 3);
}

TEST(Extent, RoundsAsItsWordsSay) {
  for (auto [a, b, div, rem, up, down] : {std::tuple{7, 2, 3, 1, 4, 3},
                                          {-7, 2, -3, -1, -3, -4},
                                          {7, -2, -3, 1, -3, -4},
                                          {-7, -2, 3, -1, 4, 3},
                                          {6, 3, 2, 0, 2, 2},
                                          {-6, 3, -2, 0, -2, -2},
                                          {0, 5, 0, 0, 0, 0}}) {
    std::string operands = std::to_string(a) + " " + std::to_string(b);
    EXPECT_EQ(valueOf(operands + " div"), div) << operands;
    EXPECT_EQ(valueOf(operands + " rem"), rem) << operands;
    EXPECT_EQ(valueOf(operands + " ceildiv"), up) << operands;
    EXPECT_EQ(valueOf(operands + " floordiv"), down) << operands;
  }
}

TEST(Extent, ComparesAndCombines) {
  EXPECT_EQ(valueOf("1 2 lt 2 2 le and 3 3 ge and"), 1);
  EXPECT_EQ(valueOf("1 2 gt 2 3 eq or"), 0);
  EXPECT_EQ(valueOf("1 2 ne 1 xor"), 0);
  EXPECT_EQ(valueOf("3 5 min 4 max"), 4);
  EXPECT_EQ(valueOf("2147483648 32 wrap"), -2147483648LL);
  EXPECT_EQ(valueOf("a1 64 wrap", kLeast), kLeast);
}

TEST(Extent, RefusesWhatHasNoValue) {
  EXPECT_EQ(problemOf<CompileError>("a0.0 a1 div"),
            "symmetric 'full': the extent 'a0.0 a1 div' divides by 0 (300 div 0)");
  for (const char *word : {"rem", "ceildiv", "floordiv"})
    EXPECT_NE(problemOf<CompileError>(std::string("1 0 ") + word).find("divides by 0"),
              std::string::npos);
  EXPECT_NE(problemOf<CompileError>("a1 1 add", kMost).find("goes beyond 64 bits"),
            std::string::npos);
  EXPECT_NE(problemOf<CompileError>("a1 2 mul", kMost).find("goes beyond 64 bits"),
            std::string::npos);
  EXPECT_NE(problemOf<CompileError>("a1 1 sub", kLeast).find("goes beyond 64 bits"),
            std::string::npos);
  for (const char *word : {"div", "ceildiv", "floordiv"})
    EXPECT_NE(problemOf<CompileError>(std::string("a1 -1 ") + word, kLeast).find("beyond 64 bits"),
              std::string::npos);
}

TEST(Extent, RefusesOtherTexts) {
  EXPECT_EQ(problemOf<RuntimeError>(""), "extent '' is 0 values, expected one");
  EXPECT_EQ(problemOf<RuntimeError>("1 2"), "extent '1 2' is 2 values, expected one");
  EXPECT_EQ(problemOf<RuntimeError>("1 add"), "extent '1 add' lacks operands of 'add'");
  EXPECT_EQ(problemOf<RuntimeError>("1 2 select"),
            "extent '1 2 select' lacks operands of 'select'");
  EXPECT_EQ(problemOf<RuntimeError>("a3"), "extent 'a3' takes argument 3 of 3");
  EXPECT_EQ(problemOf<RuntimeError>("a0.2"), "extent 'a0.2' takes extent 2 of 'A', which has 2");
  EXPECT_EQ(problemOf<RuntimeError>("a0"), "extent 'a0' takes 'a0', but 'A' is a view");
  EXPECT_EQ(problemOf<RuntimeError>("a1.0"), "extent 'a1.0' takes 'a1.0', but 'n' is a number");
  EXPECT_EQ(problemOf<RuntimeError>("a2"), "extent 'a2' takes 'a2', but 's' is a number");
  for (const char *text : {"a", "a.", "a0.", "ab", "a0.x", "frob", "12x", "99999999999999999999"})
    EXPECT_NE(problemOf<RuntimeError>(text).find("unknown word"), std::string::npos) << text;
  std::string deep;
  for (int n = 0; n < 100; ++n)
    deep += "1 ";
  EXPECT_NE(problemOf<RuntimeError>(deep).find("nested too deeply"), std::string::npos);
}

TEST(Symmetric, IsSizedByTheLaunch) {
  KernelInfo info;
  info.arguments = kArguments;
  info.symmetric = {
      {"full", SymmetricKind::buffer, 2, {Extent("n", {}), Extent("a0.1", kArguments)}},
      {"ready", SymmetricKind::signals, 8, {Extent("a1", kArguments)}}};
  auto at = [&](int64_t columns, int64_t n) {
    std::vector<int64_t> words{0, 300, columns, columns, 1, n, 0};
    return symmetricAt(info, {words, 4});
  };
  std::vector<SymmetricArray> arrays = at(70, 3);
  ASSERT_EQ(arrays.size(), 2U);
  EXPECT_EQ(arrays[0].bytes(), 560);
  EXPECT_EQ(arrays[1].elements(), 3);
  std::string key = workspaceKey("f(A)", info, arrays);
  EXPECT_EQ(kernelOfKey(key), "f(A)");
  EXPECT_EQ(kernelOfKey("full"), "");
  EXPECT_FALSE(differenceOfKeys(key, key));
  EXPECT_FALSE(differenceOfKeys(key, workspaceKey("g(A)", info, arrays)));
  auto expectDifference = [&](std::string_view other, std::string_view what, std::string_view one,
                              std::string_view another) {
    std::optional<KeyDifference> difference = differenceOfKeys(key, other);
    ASSERT_TRUE(difference);
    EXPECT_EQ(difference->what, what);
    EXPECT_EQ(difference->one, one);
    EXPECT_EQ(difference->other, another);
  };
  std::string sizes = workspaceKey("f(A)", info, at(71, 3));
  expectDifference(sizes, "sizes", "full:2[4,70]", "full:2[4,71]");
  KernelInfo ints = info, teams = info;
  KernelInfo barriers = info, boxes = info;
  ints.arguments[0].type = DType::i32;
  teams.team = {0, 2};
  barriers.barriers = 2;
  boxes.symmetric[0].kind = SymmetricKind::inbox;
  std::string types = workspaceKey("f(A)", ints, arrays),
              team = workspaceKey("f(A)", teams, arrays);
  expectDifference(types, "types", "f16,i64,f32", "i32,i64,f32");
  expectDifference(team, "ranks", "all ranks", "team 0:2");
  expectDifference(workspaceKey("f(A)", barriers, arrays), "barriers", "0", "2");
  std::vector<int64_t> words{0, 300, 70, 70, 1, 3, 0};
  std::string inbox = workspaceKey("f(A)", boxes, symmetricAt(boxes, {words, 4}));
  expectDifference(inbox, "sizes", "full:2[4,70]", "inbox full:2[4,70]");
  EXPECT_EQ(at(0, 0)[0].bytes(), 0);
  auto problem = [&](int64_t columns, int64_t n) -> std::string {
    try {
      at(columns, n);
    } catch (const CompileError &error) {
      return error.what();
    }
    return "no error";
  };
  std::string expected = ", expected extents of 0 or more and at most 70368744177664 elements";
  EXPECT_EQ(problem(70, -1), "symmetric 'ready' has shape [-1]" + expected);
  EXPECT_EQ(problem(int64_t(1) << 60, 1),
            "symmetric 'full' has shape [4, 1152921504606846976]" + expected);
  EXPECT_EQ(problem(kMost, 1), "symmetric 'full' has shape [4, 9223372036854775807]" + expected);
}

} // namespace
