// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments whose values, known only when a kernel runs, it cannot take.
#include "ditron/driver/Context.h"
#include "ditron/kernels/kernels.h"
#include "ditron/support/Error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ditron::kernels {
namespace {

using testing::HasSubstr;

/// The message of a launch on one rank; "no error" if it ends well.
std::string launch(const std::function<void(Context &)> &body) {
  std::string message = "no error";
  runRanks({.ranks = 1, .cores = 2}, [&](Context &context) {
    try {
      body(context);
      context.sync();
    } catch (const CompileError &error) {
      message = error.what();
    }
  });
  return message;
}

Tensor integers(Context &context, const std::vector<int64_t> &values) {
  Tensor result = context.tensor<i32>({static_cast<int64_t>(values.size())});
  for (size_t n = 0; n < values.size(); ++n)
    result.set({static_cast<int64_t>(n)}, double(values[n]));
  return result;
}

/// flash-attention of 2 sequences in 8 queries and 8 keys, N heads of 12 elements on G.
std::string attend(const std::vector<int64_t> &qStarts, const std::vector<int64_t> &kStarts,
                   const AttentionConfig &config, int64_t N = 2, int64_t G = 1) {
  return launch([&](Context &context) {
    auto q = context.tensor<f32>({8, N, 12}), o = context.tensor<f32>({8, N, 12});
    auto k = context.tensor<f32>({8, G, 12}), v = context.tensor<f32>({8, G, 12});
    context.compile(flashAttention(DType::f32, config))(q, k, v, integers(context, qStarts),
                                                        integers(context, kStarts), 1.0, o);
  });
}

TEST(Refusal, flashAttention) {
  AttentionConfig config{.m = 4, .n = 4, .d = 16};
  EXPECT_EQ(attend({0, 3, 8}, {0, 5, 8}, config), "no error");
  EXPECT_EQ(attend({2, 2, 7}, {1, 5, 5}, config), "no error");
  EXPECT_THAT(attend({0, 3, 9}, {0, 5, 8}, config), HasSubstr("slice takes 6 elements from 3 on"));
  EXPECT_THAT(attend({0, 3, 8}, {0, 5, 9}, config), HasSubstr("slice takes 4 elements from 5 on"));
  EXPECT_THAT(attend({0, 3, 8}, {0, 5, 3}, config), HasSubstr("slice takes -2 elements from 5 on"));
  EXPECT_THAT(attend({5, 3, 8}, {0, 5, 8}, config),
              HasSubstr("sequence 0 has -2 queries, expected 0 or more"));
  EXPECT_THAT(attend({0, 3, 8}, {0, 5, 8}, {.m = 4, .n = 4, .d = 8}),
              HasSubstr("the heads have 12 elements, this variant takes up to 8"));
  EXPECT_THAT(attend({0, 3, 8}, {0, 5, 8}, config, 3, 2),
              HasSubstr("3 heads of queries do not share 2 heads of keys"));
}

std::string multiplyGroups(const std::vector<int64_t> &counts) {
  return launch([&](Context &context) {
    auto A = context.tensor<f32>({8, 5}), C = context.tensor<f32>({8, 7});
    auto W = context.tensor<f32>({3, 7, 5});
    context.compile(groupedGemm(DType::f32, {4, 4, 4, 1}))(A, W, integers(context, counts), C);
  });
}

TEST(Refusal, groupedGemm) {
  EXPECT_EQ(multiplyGroups({3, 0, 5}), "no error");
  EXPECT_EQ(multiplyGroups({0, 0, 0}), "no error");
  EXPECT_THAT(multiplyGroups({4, -1, 3}), HasSubstr("one of 3 parts has -1 rows"));
  EXPECT_THAT(multiplyGroups({3, 0, 6}), HasSubstr("slice takes 6 elements from 3 on"));
}

std::string rotate(int64_t position) {
  return launch([&](Context &context) {
    auto x = context.tensor<f32>({1, 2, 6}), y = context.tensor<f32>({1, 2, 6});
    auto cosines = context.tensor<f32>({4, 3}), sines = context.tensor<f32>({4, 3});
    context.compile(rope(DType::f32, {2, 4}))(x, integers(context, {position}), cosines, sines, y);
  });
}

TEST(Refusal, rope) {
  EXPECT_EQ(rotate(3), "no error");
  EXPECT_THAT(rotate(4), HasSubstr("slice takes 1 elements from 4 on"));
  EXPECT_THAT(rotate(-1), HasSubstr("slice takes 1 elements from -1 on"));
}

} // namespace
} // namespace ditron::kernels
