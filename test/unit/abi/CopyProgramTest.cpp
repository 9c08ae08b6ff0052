// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What copy engines do in a launch: steps followed in program order, and what is refused.
#include "ditron/abi/CopyProgram.h"
#include "ditron/support/Error.h"
#include <gtest/gtest.h>

using namespace ditron;
using namespace ditron::abi;

namespace {

/// A[M,K] of 6 x 4, and an index n.
const std::vector<Argument> kArguments = {{"A", ArgumentKind::view, DType::f16, 2},
                                          {"n", ArgumentKind::index, DType::i64, 0}};
const std::vector<int64_t> kWords = {4096, 6, 4, 8, 1, 2};

std::vector<Extent> extents(std::initializer_list<const char *> texts) {
  std::vector<Extent> all;
  for (const char *text : texts)
    all.emplace_back(text, kArguments);
  return all;
}

CopyStep step(CopyKind kind, std::initializer_list<const char *> values, int64_t body = 0,
              int64_t otherwise = 0, std::string message = "") {
  return {kind, {}, extents(values), body, otherwise, std::move(message)};
}

/// "peer.counter.value" of each notify, and "put" and "wait" with their numbers.
std::string follow(const std::vector<CopyStep> &steps, int64_t rank = 0) {
  std::string text;
  for (const CopyAction &action : copyActions(steps, {kWords, 4, rank})) {
    text += action.step->kind == CopyKind::put    ? "put"
            : action.step->kind == CopyKind::wait ? "wait"
                                                  : "notify";
    for (int64_t value : action.values)
      text += " " + std::to_string(value);
    text += "; ";
  }
  return text;
}

std::string problemOf(const std::vector<CopyStep> &steps) {
  try {
    follow(steps);
  } catch (const CompileError &error) {
    return error.what();
  }
  return "no error";
}

TEST(CopyProgram, FollowsLoopsInOrder) {
  std::vector<CopyStep> steps = {
      step(CopyKind::wait, {"0", "a1"}),
      step(CopyKind::loop, {"1", "n", "1"}, 2),
      step(CopyKind::put, {"r n v0 sub add n rem", "0", "a0.s0", "a0.0", "a0.s0", "a0.s1"}),
      step(CopyKind::notifyAdd, {"r n v0 sub add n rem", "r", "1"}),
      step(CopyKind::notifySet, {"r", "7", "9"}),
  };
  EXPECT_EQ(follow(steps, 1), "wait 0 2; put 0 0 8 6 8 1; notify 0 1 1; put 3 0 8 6 8 1; "
                              "notify 3 1 1; put 2 0 8 6 8 1; notify 2 1 1; notify 1 7 9; ");
}

TEST(CopyProgram, TakesBranches) {
  std::vector<CopyStep> steps = {
      step(CopyKind::branch, {"r 2 lt"}, 1, 2), step(CopyKind::notifyAdd, {"0", "0", "1"}),
      step(CopyKind::notifyAdd, {"0", "1", "1"}), step(CopyKind::notifyAdd, {"0", "2", "1"}),
      step(CopyKind::notifyAdd, {"0", "3", "1"})};
  EXPECT_EQ(follow(steps, 1), "notify 0 0 1; notify 0 3 1; ");
  EXPECT_EQ(follow(steps, 2), "notify 0 1 1; notify 0 2 1; notify 0 3 1; ");
}

TEST(CopyProgram, NestsLoops) {
  std::vector<CopyStep> steps = {step(CopyKind::loop, {"0", "3", "2"}, 2),
                                 step(CopyKind::loop, {"v0", "3", "1"}, 1),
                                 step(CopyKind::notifyAdd, {"v0", "v1", "1"})};
  EXPECT_EQ(follow(steps), "notify 0 0 1; notify 0 1 1; notify 0 2 1; notify 2 2 1; ");
}

TEST(CopyProgram, SaysWhatIsWrong) {
  EXPECT_EQ(problemOf({step(CopyKind::notifyAdd, {"n", "0", "1"})}),
            "a role of copy engines names rank 4 of 4 ranks");
  EXPECT_EQ(problemOf({step(CopyKind::loop, {"0", "n", "0"}, 0)}),
            "a role of copy engines: a loop has step 0, expected 1 or more");
  EXPECT_EQ(problemOf({step(CopyKind::require, {"a0.0 4 le", "a0.0"}, 0, 0, "k.cpp:3: {} rows")}),
            "k.cpp:3: 6 rows");
  EXPECT_EQ(problemOf({step(CopyKind::require, {"a0.0 6 le", "a0.0"}, 0, 0, "k.cpp:3: {} rows")}),
            "no error");
  EXPECT_NE(problemOf({step(CopyKind::loop, {"0", "100000", "1"}, 1),
                       step(CopyKind::notifyAdd, {"0", "0", "1"})})
                .find("more than 65536 puts, notifies and waits"),
            std::string::npos);
}

} // namespace
