// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles follow the traits of the target, and nothing else about it.
#include "ditron/heuristics/AttentionTiles.h"
#include "ditron/heuristics/Communication.h"
#include "ditron/heuristics/GemmTiles.h"
#include "ditron/heuristics/RowTiles.h"
#include <gtest/gtest.h>

namespace ditron::heuristics {
namespace {

constexpr DeviceTraits kCpu;

/// A GPU whose warps multiply from registers, and one whose warpgroups do from shared memory.
DeviceTraits gpu(int64_t sms = 108) { return {.sms = sms}; }
DeviceTraits gpuOfWarpgroups() {
  return {.sms = 132, .hasWarpgroups = true, .accumulator = 256 * 192};
}

std::array<int, 3> extents(const GemmTile &tile) { return {tile.m, tile.n, tile.k}; }

TEST(GemmTiles, AreNoLargerThanTheProduct) {
  for (const DeviceTraits &target : {kCpu, gpu(), gpuOfWarpgroups()})
    EXPECT_EQ(extents(gemmTile({1, 3, 5, DType::f32}, target)), (std::array{1, 4, 8}));
}

TEST(GemmTiles, KeepAllCoresOfACpuBusy) {
  GemmShape shape{512, 512, 512, DType::f32, 1};
  GemmTile one = gemmTile(shape, kCpu);
  shape.cores = 16;
  GemmTile many = gemmTile(shape, kCpu);
  EXPECT_LE(one.m * one.n, 512 * 512);
  EXPECT_LE(many.m * many.n * 16, 512 * 512);
}

TEST(GemmTiles, AreThoseOfWarpsWithoutWarpgroups) {
  EXPECT_EQ(extents(gemmTile({8192, 8192, 8192, DType::bf16}, gpu())), (std::array{128, 128, 64}));
  DeviceTraits target = gpuOfWarpgroups();
  GemmShape shape{8192, 8192, 8192, DType::bf16};
  PairedTile tile = gemmTile(shape, target);
  EXPECT_GT(tile.m * tile.n, 128 * 128);
  EXPECT_LE(tile.m * tile.n, target.accumulator);
}

TEST(GemmTiles, AreChosenForAllPartsOfAMatrix) {
  // 4 parts of 2048 rows are dealt to the SMs like 8192 rows.
  DeviceTraits target = gpuOfWarpgroups();
  target.sms = 116;
  GemmShape part{2048, 2752, 4096, DType::bf16};
  part.count = 4;
  GemmShape whole{8192, 2752, 4096, DType::bf16};
  EXPECT_EQ(extents(gemmTile(part, target)), extents(gemmTile(whole, target)));
}

TEST(GemmTiles, GiveAllSmsAsMuchToDo) {
  // A tile of 256 x 128 for each of 128 SMs, in one round.
  DeviceTraits target = gpuOfWarpgroups();
  target.sms = 128;
  PairedTile tile = gemmTile({4096, 1024, 4096, DType::bf16}, target);
  int64_t tiles = (4096 + tile.m - 1) / tile.m * ((1024 + tile.n - 1) / tile.n);
  EXPECT_LE(tiles, 128);
  target.sms = 64;
  PairedTile larger = gemmTile({4096, 1024, 4096, DType::bf16}, target);
  EXPECT_GE(larger.m * larger.n, tile.m * tile.n);
}

TEST(GemmTiles, LeaveRegistersForTheEpilogue) {
  DeviceTraits target = gpuOfWarpgroups();
  GemmShape shape{8192, 8192, 8192, DType::bf16};
  PairedTile tile = gemmTile(shape, target, {.epilogue = {.bias = true, .residual = true}});
  EXPECT_LE(tile.m * tile.n, 128 * 128);
}

TEST(RowTiles, AreWholeVectorsOfTheTarget) {
  EXPECT_EQ(rowTile({64, 1000, DType::f32}, kCpu).width, 1008);
  EXPECT_EQ(rowTile({64, 1000, DType::f32}, {.vectorBytes = 32}).width, 1000);
  EXPECT_EQ(rowTile({64, 20000, DType::f32}, kCpu).width, 2048) << "no cache holds such a row";
  EXPECT_GE(rowTile({64, 20000, DType::f32}, gpu()).width, 20000);
}

TEST(RowTiles, DependOnTheLanesOfAWarp) {
  DeviceTraits wide = gpu();
  wide.lanes = 64;
  EXPECT_EQ(rowTile({64, 1008, DType::f32}, gpu()).width % (4 * 32), 0);
  EXPECT_EQ(rowTile({64, 1008, DType::f32}, wide).width % (4 * 64 / 4), 0);
  EXPECT_GE(rowTile({64, 1008, DType::f32}, wide).width,
            rowTile({64, 1008, DType::f32}, gpu()).width);
}

TEST(RowTiles, CoresSharePartsOfFewRows) {
  constexpr int64_t kVocabulary = 151936;
  auto partsOf = [](int64_t rows, int64_t cores, const DeviceTraits &target) {
    PartTile tile = partTile({rows, kVocabulary, DType::f32}, cores, target);
    int64_t tiles = (kVocabulary + tile.width - 1) / tile.width;
    return tile.block ? (tiles + tile.block - 1) / tile.block : 1;
  };
  int64_t sms = gpu().sms;
  EXPECT_GE(2 * partsOf(1, 1, gpu()), sms);
  EXPECT_LE(partsOf(1, 1, gpu()), 2 * sms);
  EXPECT_GE(64 * partsOf(64, 1, gpu()), 8 * sms);
  EXPECT_LT(partsOf(64, 1, gpu()), partsOf(1, 1, gpu()));
  EXPECT_EQ(partsOf(100000, 1, gpu()), 1);
  EXPECT_GE(partsOf(1, 16, kCpu), 16);
  EXPECT_EQ(partsOf(64, 16, kCpu), 1);
  EXPECT_EQ(partTile({1, 320, DType::f32}, 16, kCpu).block, 0) << "a short row is one core's";
}

TEST(AttentionTiles, FitTheRegisters) {
  AttentionShape shape{4096, 4096, 128, DType::bf16};
  AttentionTile byWarps = attentionTile(shape, gpu());
  EXPECT_EQ(std::tuple(byWarps.m, byWarps.n, byWarps.d), std::tuple(64, 32, 128));
  AttentionTile byWarpgroups = attentionTile(shape, gpuOfWarpgroups());
  EXPECT_EQ(std::tuple(byWarpgroups.m, byWarpgroups.n, byWarpgroups.d), std::tuple(128, 128, 128));
}

TEST(AttentionTiles, ManyHeadsTakeAllTheirKeys) {
  AttentionShape shape{4, 64, 128, DType::bf16};
  auto tile = [](const AttentionShape &shape, int64_t heads) {
    return pagedTile(shape, heads, 100, gpuOfWarpgroups());
  };
  DecodeTile many = tile(shape, 512), part = pagedPartTile(shape, gpuOfWarpgroups());
  EXPECT_EQ(std::tuple(many.m, many.n, many.block), std::tuple(64, 64, 0));
  EXPECT_EQ(std::tuple(part.m, part.block, part.warps), std::tuple(4, 1, 8));
  AttentionShape ofOddPages{4, 48, 128, DType::bf16}, wide{4, 64, 128, DType::f32};
  EXPECT_GT(tile(ofOddPages, 512).block, 0);
  EXPECT_GT(tile(wide, 512).block, 0);
}

TEST(AttentionTiles, FewHeadsHavePartsForAllSms) {
  int64_t sms = gpuOfWarpgroups().sms;
  for (int64_t heads : {1, 8, 40, 64})
    for (int64_t keys : {1 << 13, 1 << 15, 100003}) {
      DecodeTile tile = decodeTile({4, keys, 128, DType::bf16}, heads, gpuOfWarpgroups());
      int64_t size = tile.n * tile.block, parts = (keys + size - 1) / size;
      EXPECT_EQ(tile.m, 64);
      EXPECT_LE(heads * parts, sms);
      EXPECT_GT(heads * (parts + 1) * 10, sms * 6) << heads << " heads of " << keys;
    }
  DecodeTile few = decodeTile({4, 512, 128, DType::bf16}, 8, gpuOfWarpgroups());
  EXPECT_EQ(std::tuple(few.n, few.block), std::tuple(64, 1));
}

TEST(Communication, SmallSumsTakeOneExchange) {
  EXPECT_FALSE(takesTwoShots(4096, 4, {}, {}));
  EXPECT_TRUE(takesTwoShots(1 << 20, 4, {}, {}));
}

TEST(Communication, CoresThatMoveDataAreFew) {
  EXPECT_EQ(communicatingCores(2, kCpu), 0);
  EXPECT_EQ(communicatingCores(8, kCpu), 1);
  EXPECT_EQ(communicatingCores(1, gpu()), 16);
}

TEST(GemvTiles, FewAreSharedByTwoSms) {
  auto sharersOf = [](int64_t B, int64_t N, int64_t K, const DeviceTraits &target) {
    return gemvTile({B, N, K, DType::bf16, 132}, target).sharers;
  };
  DeviceTraits target = gpuOfWarpgroups();
  EXPECT_EQ(sharersOf(8, 4096, 12288, target), 2);
  EXPECT_EQ(sharersOf(1, 4096, 4096, target), 2);
  EXPECT_EQ(sharersOf(64, 4096, 12288, target), 1) << "the sums of a tile are many";
  EXPECT_EQ(sharersOf(8, 4096, 2048, target), 1) << "terms are few";
  EXPECT_EQ(sharersOf(8, 6144, 12288, target), 1) << "more than half of the SMs have a tile";
  EXPECT_EQ(sharersOf(8, 4096, 12288, gpu()), 1) << "no clusters";
  EXPECT_EQ(sharersOf(8, 4096, 12288, kCpu), 1);
}

TEST(GemvTiles, FewRowsOfWeightsComeInLongSteps) {
  auto tileOf = [](int64_t N, bool isGated = false) {
    return gemvTile({64, N, 4096, DType::bf16, 132, false, false, isGated}, gpuOfWarpgroups());
  };
  EXPECT_EQ(tileOf(4096).n, 32);
  EXPECT_EQ(tileOf(4096).k, 256);
  EXPECT_EQ(tileOf(1536).n, 16);
  EXPECT_EQ(tileOf(1536).k, 256) << "no longer";
  EXPECT_EQ(tileOf(6144).n, 48);
  EXPECT_EQ(tileOf(6144).k, 128) << "at most 16 KB";
  EXPECT_EQ(tileOf(12288).n, 96);
  EXPECT_EQ(tileOf(12288).k, 64);
  EXPECT_EQ(tileOf(3072, true).k, 64) << "two tiles of weights come at a time";
}

TEST(GemvTiles, RowsOfWeightsThatStreamAreDealtEvenly) {
  auto tileOf = [](int64_t B, int64_t N, int64_t K, bool isGated, bool isPacked = false) {
    GemvShape shape{B, N, K, DType::bf16, 132, false, false, isGated};
    shape.isLong = true;
    shape.isPacked = isPacked;
    return gemvTile(shape, gpuOfWarpgroups());
  };
  GemvTile even = tileOf(1, 12288, 4096, true);
  EXPECT_EQ(std::pair(even.n, even.k), (std::pair<int64_t, int64_t>(16, 1024)))
      << "6 tiles for each of 128 SMs";
  GemvTile uneven = tileOf(1, 3072, 4096, true);
  EXPECT_EQ(std::pair(uneven.n, uneven.k), (std::pair<int64_t, int64_t>(8, 1024)))
      << "3 for 128 SMs, not 4 for 96";
  EXPECT_EQ(tileOf(1, 3072, 4096, true, true).k, 2048) << "pieces of 16 KB in i8, too";
  EXPECT_EQ(tileOf(8, 3072, 4096, true).n, 16) << "8 rows x take 16 rows of W";
  EXPECT_EQ(tileOf(1, 3072, 1024, true).n, 16) << "rows have no piece so long";
  EXPECT_EQ(tileOf(1, 4096, 4096, false).together, 2);
  EXPECT_EQ(tileOf(8, 6144, 4096, false).together, 3);
  EXPECT_EQ(tileOf(8, 151936, 4096, false).together, 2);
  EXPECT_EQ(tileOf(8, 37984, 4096, false).together, 2);
  EXPECT_EQ(tileOf(8, 17 * 132 * 16, 4096, false).together, 1); // pairs would be uneven
  EXPECT_EQ(tileOf(8, 3072, 4096, false).together, 2);
  EXPECT_EQ(tileOf(8, 12288, 4096, true).together, 1);
  EXPECT_EQ(tileOf(1, 6144, 4096, false).together, 1)
      << "a step of a single row takes as long either way";
}

} // namespace
} // namespace ditron::heuristics
