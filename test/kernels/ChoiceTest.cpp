// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How products across ranks are done where nothing is given: by the sizes that a GPU finds.
#include "ditron/driver/Compile.h"
#include "ditron/kernels/FusedGemm.h"
#include "ditron/kernels/Registry.h"
#include "ditron/support/Error.h"
#include <gtest/gtest.h>

namespace ditron::kernels {
namespace {

Problem problemOf(int64_t M, int64_t N, int64_t K, int64_t ranks = 2) {
  Problem problem;
  problem.dims = {{"M", M}, {"N", N}, {"K", K}};
  problem.type = DType::bf16;
  problem.ranks = ranks;
  problem.cores = 132;
  problem.target = traitsOf("sm_90a");
  return problem;
}

Config configOf(const char *kernel, const Problem &problem, const char *text = "") {
  return findKernel(kernel).configure(problem, text);
}

constexpr const char *kProducts[] = {"ag-gemm", "gemm-rs", "gemm-ar"};

TEST(Choice, PacksOddRowsOfSmallProducts) {
  for (const char *kernel : kProducts) {
    Config config = configOf(kernel, problemOf(997, 1031, 1009));
    EXPECT_TRUE(isDirect(config) && isPacked(config)) << kernel;
    EXPECT_FALSE(isPacked(configOf(kernel, problemOf(1000, 1032, 1008)))) << kernel;
  }
}

TEST(Choice, DividesKOfFewRows) {
  Config config = configOf("gemm-ar", problemOf(32, 5120, 12800));
  EXPECT_TRUE(isDirect(config));
  EXPECT_GT(config["workers"], 1);
  Config parts = configOf("gemm-ar", problemOf(32, 5120, 12800), "parts=3");
  EXPECT_TRUE(parts["parts"] == 3 && parts["workers"] == 0);
}

TEST(Choice, ReadsWhatFewRowsAreMultipliedWithOnce) {
  for (const char *kernel : kProducts) {
    EXPECT_EQ(configOf(kernel, problemOf(512, 4096, 4096))["workers"], 0) << kernel;
    Config asked = configOf(kernel, problemOf(16, 4096, 4096), "engine=direct,workers=128");
    bool isOfShards = kernel != std::string("gemm-ar"); // tiles then have rows of both ranks
    EXPECT_EQ(asked["m"], isOfShards ? 32 : 16) << kernel;
  }
  EXPECT_GT(configOf("gemm-ar", problemOf(32, 4096, 4096))["workers"], 100);
}

TEST(Choice, LeavesLargeTransfersToCopyEngines) {
  for (const char *kernel : kProducts)
    EXPECT_EQ(configOf(kernel, problemOf(8192, 8192, 8192, 4))["engine"], 1) << kernel;
  EXPECT_EQ(configOf("ag-gemm", problemOf(8192, 8192, 8192))["engine"], 1);
}

/// Between two ranks, where the link has time for them, and of products that end before large copies would be through.
TEST(Choice, SendsTilesOfSums) {
  for (const char *kernel : {"gemm-rs", "gemm-ar"}) {
    EXPECT_TRUE(sendsTiles(configOf(kernel, problemOf(8192, 8192, 8192)))) << kernel;
    EXPECT_FALSE(sendsTiles(configOf(kernel, problemOf(32, 4096, 4096)))) << kernel;
  }
  EXPECT_TRUE(sendsTiles(configOf("gemm-rs", problemOf(1024, 4096, 2048, 4))));
  Config reduced = configOf("gemm-ar", problemOf(8192, 4096, 2752, 4));
  EXPECT_TRUE(sendsTiles(reduced));
  EXPECT_EQ(reduced["rounds"], 2);
}

/// What is gathered has no tiles that are summed.
TEST(Choice, RefusesToSendTilesOfWhatIsGathered) {
  Config config = configOf("ag-gemm", problemOf(64, 64, 64), "engine=direct,form=placed");
  EXPECT_THROW(findKernel("ag-gemm").make(DType::bf16, config), CompileError);
}

/// While a wave of tiles is multiplied, copy engines send what the waves before it have summed: longer
/// waves take fewer chunks.
TEST(Choice, SendsChunksBehindTheLastWave) {
  auto chunksOf = [](int64_t K) {
    return configOf("gemm-ar", problemOf(8192, 4096, K), "engine=copy")["chunks"];
  };
  EXPECT_EQ(chunksOf(14336), 2);
  EXPECT_GT(chunksOf(2048), chunksOf(14336));
  Config config = configOf("gemm-ar", problemOf(8192, 4096, 7168), "engine=copy");
  EXPECT_EQ(config["wave"], 132);
  EXPECT_EQ(config["group"],
            configOf("gemm-rs", problemOf(4096, 4096, 7168), "engine=copy")["group"]);
}

/// A chunk more is a copy to each of the other ranks more, which the link has no time for behind short products.
TEST(Choice, SendsShortProductsInOneChunk) {
  auto chunksOf = [](int64_t M, int64_t K) {
    Problem problem = problemOf(M, 4096, K);
    problem.ranks = 4;
    return configOf("gemm-rs", problem, "engine=copy")["chunks"];
  };
  EXPECT_EQ(chunksOf(1024, 2048), 1);
  EXPECT_EQ(chunksOf(2048, 2752), 2);
}

TEST(Choice, IsOverruledByWhatIsGiven) {
  for (const char *kernel : kProducts) {
    Config config = configOf(kernel, problemOf(997, 1031, 1009), "engine=copy");
    EXPECT_FALSE(isDirect(config) || isPacked(config)) << kernel;
  }
}

/// Whatever way the model takes on so many ranks, a choice that is given has its effect.
TEST(Choice, LeavesRoomForWhatIsGiven) {
  for (const char *kernel : kProducts)
    for (int64_t ranks : {1, 2, 3, 4, 8})
      for (int64_t size : {10, 64, 1000, 8192})
        for (const std::string &variant : findKernel(kernel).variants) {
          Problem problem = problemOf(size - 3, size + 3, size + 1, ranks);
          EXPECT_NO_THROW(
              findKernel(kernel).kernel(problem, configOf(kernel, problem, variant.c_str())))
              << kernel << " " << variant << " on " << ranks << " ranks, " << size;
        }
}

TEST(Choice, KnowsWhatItTakes) {
  using heuristics::Exchange;
  Problem problem = problemOf(997, 1031, 1009);
  Config chosen = configOf("gemm-rs", problem),
         copies = configOf("gemm-rs", problem, "engine=copy");
  EXPECT_LT(predictFused(problem, chosen, Exchange::reduceScatter).seconds,
            predictFused(problem, copies, Exchange::reduceScatter).seconds);
}

} // namespace
} // namespace ditron::kernels
