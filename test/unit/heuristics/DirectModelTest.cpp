// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of few tiles, and products with collectives whose steps follow one another.
#include "ditron/heuristics/DirectModel.h"
#include "ditron/heuristics/SplitTiles.h"
#include "ditron/heuristics/StreamKTiles.h"
#include <gtest/gtest.h>

namespace ditron::heuristics {
namespace {

const Calibration kHost;
const DeviceTraits kGpu{.sms = 132, .hasWarpgroups = true, .accumulator = 256 * 192};

SplitTile split(int64_t M, int64_t N, int64_t K, double partSeconds = 0.2e-6) {
  return splitTile({M, N, K, DType::bf16}, kGpu, {}, kHost, partSeconds);
}

int64_t itemsOf(const SplitTile &split, int64_t M, int64_t N) {
  return (M + split.tile.m - 1) / split.tile.m * ((N + split.tile.n - 1) / split.tile.n) *
         split.parts;
}

TEST(SplitTiles, GiveAllSmsSomethingToRead) {
  SplitTile found = split(32, 5120, 12800);
  EXPECT_GT(found.parts, 1);
  EXPECT_GE(itemsOf(found, 32, 5120), 100);
  EXPECT_GT(split(256, 256, 65536).parts, 8);
}

TEST(SplitTiles, AreWholeWhereThereAreManyTiles) {
  for (auto [M, N, K] :
       {std::array<int64_t, 3>{8192, 2752, 4096}, {4096, 4096, 4096}, {32, 16384, 4096}})
    EXPECT_EQ(split(M, N, K).parts, 1) << M << " " << N << " " << K;
}

TEST(SplitTiles, AreNotMoreThanSumsAreWorth) {
  EXPECT_EQ(split(32, 5120, 12800, 1).parts, 1);
  EXPECT_EQ(split(1, 1, 1).parts, 1);
}

TEST(SplitTiles, AreThoseOfTheWholeProductElsewhere) {
  for (const DeviceTraits &target : {DeviceTraits(), DeviceTraits{.sms = 108}})
    EXPECT_EQ(splitTile({32, 5120, 12800, DType::bf16}, target, {}, kHost, 0).parts, 1);
}

TEST(StreamKTiles, GiveAllSmsAsMuchOfB) {
  for (auto [M, N, K] :
       {std::array<int64_t, 3>{1, 4096, 4096}, {32, 5120, 12800}, {16, 4096, 14336}}) {
    StreamKTile found = streamKTile({M, N, K, DType::bf16}, kGpu, kHost);
    EXPECT_GE(found.tile.m, M);
    EXPECT_GE(found.workers, 120);
    EXPECT_LE(found.workers, kGpu.sms);
    EXPECT_GT(found.seconds, double(2 * N * K) / kHost.memoryBandwidth);
  }
}

TEST(StreamKTiles, AreOfTheRowsOfAllRanks) {
  GemmShape shape{8, 4096, 4096, DType::bf16};
  shape.count = 4;
  EXPECT_EQ(streamKTile(shape, kGpu, kHost).tile.m, 32);
  shape.count = 5;
  EXPECT_EQ(streamKTile(shape, kGpu, kHost).workers, 0);
}

TEST(StreamKTiles, AreNoMoreThanSteps) {
  EXPECT_EQ(streamKTile({1, 1, 64, DType::bf16}, kGpu, kHost).workers, 1);
}

TEST(StreamKTiles, AreForWarpgroupsOf16Bits) {
  EXPECT_EQ(streamKTile({32, 5120, 12800, DType::f32}, kGpu, kHost).workers, 0);
  EXPECT_EQ(streamKTile({32, 5120, 12800, DType::bf16}, DeviceTraits{.sms = 108}, kHost).workers,
            0);
}

OverlapProblem problem(Exchange exchange, int64_t ranks) {
  return {.exchange = exchange, .rows = 32, .N = 4096, .K = 4096, .ranks = ranks, .cores = 132};
}

TEST(DirectModel, AddsItsSteps) {
  for (Exchange exchange : {Exchange::gather, Exchange::reduceScatter, Exchange::allReduce}) {
    OverlapProblem p = problem(exchange, 2);
    Prediction given = predictDirect(p, {}, 10e-6, kHost);
    Prediction packed = predictDirect(p, {.packSeconds = 1e-6}, 10e-6, kHost);
    EXPECT_DOUBLE_EQ(given.seconds, given.product + given.transfer);
    EXPECT_DOUBLE_EQ(given.stall, given.transfer);
    EXPECT_DOUBLE_EQ(packed.seconds, given.seconds + 1e-6);
    EXPECT_EQ(predictDirect(problem(exchange, 1), {}, 10e-6, kHost).transfer, 0);
  }
}

TEST(DirectModel, SendsThePartsOfAnAllReduce) {
  OverlapProblem p = problem(Exchange::allReduce, 4);
  double one = predictDirect(p, {.parts = 1}, 0, kHost).transfer;
  EXPECT_GT(predictDirect(p, {.parts = 3}, 0, kHost).transfer, one);
  EXPECT_GT(predictDirect(p, {.parts = 1, .sumBytes = 4}, 0, kHost).transfer, one);
}

} // namespace
} // namespace ditron::heuristics
