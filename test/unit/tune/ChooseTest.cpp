// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the library by name, in tiles that are good for some extents.
#include "ditron/tune/Choose.h"
#include "ditron/support/Error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ditron::tune {
namespace {

const Dimensions kExtents = {{"M", 70}, {"N", 50}, {"K", 30}};

std::string refusal(std::string_view name, DType type, const Dimensions &extents,
                    std::string_view config = "") {
  Context ctx = Context::init();
  try {
    choose(ctx, name, type, extents, config);
  } catch (const UsageError &error) {
    return error.what();
  }
  return "none";
}

TEST(Choose, TilesFollowFromExtents) {
  Context ctx = Context::init();
  Choice small = choose(ctx, "gemm", DType::f32, {{"M", 1}, {"N", 8}, {"K", 8}}),
         large = choose(ctx, "gemm", DType::f32, {{"M", 512}, {"N", 512}, {"K", 512}});
  EXPECT_LT(small.config["m"], large.config["m"]);
  EXPECT_EQ(large.kernel.name(), "gemm");
}

TEST(Choose, ProgramsCompute) {
  Context ctx = Context::init({.cores = 2});
  Tensor A = ctx.tensor<f32>({70, 30}), B = ctx.tensor<f32>({50, 30}),
         C = ctx.tensor<f32>({70, 50});
  A.fill(0.5), B.fill(2);
  compile(ctx, "gemm", DType::f32, kExtents, "transB=yes")(A, B, C);
  Tensor found = C.toHost();
  for (int64_t i = 0; i < 70; ++i)
    for (int64_t j = 0; j < 50; ++j)
      ASSERT_EQ(found.at({i, j}), 30) << i << " " << j;
}

TEST(Choose, RefusesWhatThereIsNot) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal("gemmm", DType::f32, kExtents), HasSubstr("gemm"));
  EXPECT_EQ(refusal("gemm", DType::f32, {{"M", 70}, {"N", 50}}),
            "gemm: K is not given, expected extents of 1 or more of K, M, N");
  EXPECT_EQ(refusal("gemm", DType::f32, {{"M", 70}, {"N", 50}, {"K", 0}}),
            "gemm: K is 0, expected extents of 1 or more of K, M, N");
  EXPECT_EQ(refusal("gemm", DType::f32, {{"M", 70}, {"N", 50}, {"K", 3}, {"L", 3}}),
            "gemm: there is no dimension L, expected extents of 1 or more of K, M, N");
  EXPECT_NE(refusal("gemm", DType::f32, kExtents, "transC=yes"), "none");
  EXPECT_NE(refusal("gemm", DType::i64, kExtents), "none");
}

} // namespace
} // namespace ditron::tune
