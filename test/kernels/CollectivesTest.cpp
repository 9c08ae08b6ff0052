// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the entries of the collectives do not vary: roots, pipelines without a ring, refusals, and the
// choice of engines and chunks.
#include "Harness.h"
#include "ditron/heuristics/Communication.h"
#include "ditron/support/Error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ditron::kernels {
namespace {

using testing::HasSubstr;

TEST(Collectives, EveryRankMayBeTheRoot) {
  const KernelEntry &entry = findKernel("broadcast");
  for (const char *engine :
       {",engine=cores", ",engine=cores,protocol=ll,shots=two,rows=2,columns=4",
        ",engine=cores,protocol=simple,shots=two,rows=2,columns=4,stagger=yes",
        ",engine=copy,chunks=3,rows=2"})
    for (int root : {0, 1, 2, 3})
      for (Backend backend : {Backend::reference, Backend::cpu}) {
        Problem problem{{{"M", 7}, {"N", 13}}, DType::f32, 4, 2};
        expectRight(backend, entry, problem, "root=" + std::to_string(root) + engine);
      }
}

TEST(Collectives, ARootThatIsNoRank) {
  const KernelEntry &entry = findKernel("broadcast");
  Problem problem{{{"M", 3}, {"N", 5}}, DType::f32, 2, 1};
  Config config = entry.configure(problem, "root=2");
  Kernel kernel = entry.kernel(problem.type, config);
  Inputs inputs(entry, kernel, problem, 1);
  Outputs arguments = makeArguments(kernel, problem, inputs);
  try {
    launchKernel(kernel, problem, inputs, arguments);
    FAIL() << "no error";
  } catch (const CompileError &error) {
    EXPECT_THAT(error.what(), HasSubstr("the root is rank 2, expected one below 2"));
  }
}

TEST(Collectives, APipelineWithoutARing) {
  const KernelEntry &entry = findKernel("send-recv");
  for (const char *engine : {"ring=no,engine=cores", "ring=no,engine=copy,chunks=2,rows=2"})
    for (int64_t ranks : {2, 3})
      for (Backend backend : {Backend::reference, Backend::cpu})
        expectRight(backend, entry, {{{"M", 7}, {"N", 13}}, DType::f32, ranks, 2}, engine);
}

TEST(Collectives, ProductsOfFewRowsAddOverRanks) {
  const KernelEntry &entry = findKernel("gemv");
  for (const char *variant :
       {"summed=ranks", "summed=ranks,residual=yes,next=yes", "m=2,n=3,k=20,by=tiles,summed=ranks",
        "m=2,n=3,k=20,by=tiles,together=2,summed=ranks,residual=yes,next=yes"})
    for (int64_t ranks : {2, 3})
      for (Backend backend : {Backend::reference, Backend::cpu})
        expectRight(backend, entry, {{{"B", 3}, {"N", 13}, {"K", 37}}, DType::f32, ranks, 2},
                    variant);
}

TEST(Collectives, AGatedProductDoesNotAddOverRanks) {
  const KernelEntry &entry = findKernel("gemv");
  Problem problem{{{"B", 3}, {"N", 13}, {"K", 37}}, DType::f32, 2, 1};
  try {
    entry.configure(problem, "gated=halves,summed=ranks");
    FAIL() << "no error";
  } catch (const UsageError &error) {
    EXPECT_THAT(error.what(), HasSubstr("summed is ranks, which has no effect with gated=halves"));
  }
}

TEST(Collectives, SumsOfManyRanksTakeTwoShots) {
  DeviceTraits cpu, gpu;
  gpu.sms = 132;
  auto twoShots = [](int64_t bytes, int64_t ranks, const DeviceTraits &target) {
    return heuristics::takesTwoShots(bytes, ranks, target, {});
  };
  EXPECT_FALSE(twoShots(64 << 10, 2, cpu));
  EXPECT_TRUE(twoShots(1 << 20, 2, cpu));
  EXPECT_FALSE(twoShots(256 << 20, 1, gpu));
  EXPECT_FALSE(twoShots(256 << 20, 2, gpu)) << "the traffic is the same";
  EXPECT_FALSE(twoShots(64 << 10, 4, gpu));
  EXPECT_TRUE(twoShots(8 << 20, 4, gpu));
  EXPECT_TRUE(twoShots(8 << 20, 8, gpu));
}

TEST(Collectives, RootsOfManyRanksSendParts) {
  auto parts = [](int64_t bytes, int64_t ranks) {
    return heuristics::takesParts(bytes, ranks, {});
  };
  EXPECT_FALSE(parts(8 << 20, 1));
  EXPECT_FALSE(parts(8 << 20, 2)) << "there is nobody to send on to";
  EXPECT_FALSE(parts(64 << 10, 4));
  EXPECT_TRUE(parts(1 << 20, 4));
}

/// Of an all-gather of `bytes` from one other rank or more.
static heuristics::TransferChoice choose(int64_t bytes, int64_t ranks,
                                         const heuristics::Calibration &calibration = {}) {
  int64_t shard = bytes / std::max<int64_t>(1, ranks - 1);
  return heuristics::chooseTransfer({.sent = bytes, .behind = 2 * shard, .ranks = ranks},
                                    calibration);
}

TEST(Collectives, FewBytesTakeInboxes) {
  EXPECT_TRUE(choose(128, 2).isLowLatency);
  EXPECT_TRUE(choose(512 << 10, 4).isLowLatency);
  EXPECT_FALSE(choose(32 << 20, 2).isLowLatency);
  EXPECT_FALSE(choose(0, 1).isLowLatency) << "there is nobody";
}

TEST(Collectives, ManyBytesTakeCopyEnginesWhereCoresAreSlower) {
  EXPECT_FALSE(choose(192 << 20, 2).byCopyEngines) << "cores fill the link";
  EXPECT_FALSE(choose(48 << 20, 4).byCopyEngines) << "cores find in the cache what has arrived";
  EXPECT_TRUE(choose(192 << 20, 4).byCopyEngines) << "cores that send to several ranks do not";
  EXPECT_EQ(choose(192 << 20, 4).chunks, 2) << "of one shard in three";
  heuristics::Calibration slow;
  slow.coreCopyBandwidth = slow.copyBandwidth / 2;
  EXPECT_FALSE(choose(0, 1, slow).byCopyEngines);
  EXPECT_FALSE(choose(32 << 10, 2, slow).byCopyEngines);
  EXPECT_FALSE(choose(512 << 10, 4, slow).byCopyEngines);
  EXPECT_TRUE(choose(32 << 20, 2, slow).byCopyEngines);
  EXPECT_TRUE(choose(192 << 20, 4, slow).byCopyEngines);
  EXPECT_EQ(choose(1 << 20, 2, slow).chunks, 1);
  EXPECT_GE(choose(128 << 20, 2, slow).chunks, 3) << "the last chunk's copy stays short";
  EXPECT_LE(choose(int64_t(1) << 40, 2, slow).chunks, 16);
}

TEST(Collectives, CoresSendBetweenTwoRanksThatWereMeasured) {
  heuristics::Calibration ofH200s; // by cores 384 us, by copy engines 419 us
  ofH200s.copyBandwidth = 389.7e9;
  ofH200s.coreCopyBandwidth = 351.8e9;
  EXPECT_FALSE(choose(128 << 20, 2, ofH200s).byCopyEngines);
}

TEST(Collectives, CopyEnginesForwardWhatCoresWouldSendToEach) {
  int64_t bytes = 256 << 20;
  heuristics::Traffic chain{.sent = bytes, .behind = 2 * bytes, .ranks = 2}; // of one of four ranks
  chain.byCores = 3 * bytes;
  EXPECT_TRUE(heuristics::chooseTransfer(chain, {}).byCopyEngines);
  chain.byCores = bytes;
  EXPECT_FALSE(heuristics::chooseTransfer(chain, {}).byCopyEngines);
}

TEST(Collectives, ManyChunksHaveCoresThatOnlySend) {
  EXPECT_EQ(heuristics::chooseSenders(16, 132, 2).cores, 0);
  EXPECT_EQ(heuristics::chooseSenders(512, 132, 2).cores, 64);
  EXPECT_EQ(heuristics::chooseSenders(512, 132, 2).batch, 2);
  EXPECT_EQ(heuristics::chooseSenders(2048, 132, 2).cores, 48);
  EXPECT_EQ(heuristics::chooseSenders(1 << 20, 2, 2).cores, 0) << "too few cores to share out";
  EXPECT_EQ(heuristics::chooseSenders(2048, 132, 4).cores, 0)
      << "all of them send to several ranks";
  EXPECT_EQ(heuristics::chooseSenders(2048, 132, 4).batch, 1);
  EXPECT_TRUE(heuristics::chooseSenders(2048, 132, 4).inHalves);
  EXPECT_EQ(heuristics::chooseSenders(256, 132, 4).batch, 2) << "all that a core has, at once";
  EXPECT_EQ(heuristics::chooseSenders(128, 132, 4).batch, 1);
  EXPECT_FALSE(heuristics::chooseSenders(128, 132, 4).stagger) << "each core sends once";
}

TEST(Collectives, WhatIsSentOnGoesInPieces) {
  auto some = heuristics::chooseForwarding(1024, 4096, 132, DType::bf16);
  EXPECT_EQ(some.chunk.rows * some.chunk.columns, 32768);
  EXPECT_EQ(some.senders.cores, 64);
  EXPECT_EQ(some.senders.batch, 1);
  auto most = heuristics::chooseForwarding(32768, 4096, 132, DType::bf16);
  EXPECT_EQ(most.chunk.rows * most.chunk.columns * 2, 65536);
  EXPECT_EQ(most.senders.batch, 4);
  auto least = heuristics::chooseForwarding(1, 1, 2, DType::bf16);
  EXPECT_EQ(least.chunk.rows, 1);
  EXPECT_EQ(least.senders.cores, 0) << "too few cores to share out";
}

TEST(Collectives, FewBytesAreSpreadOverFewCores) {
  heuristics::ChunkShape few = heuristics::spreadChunk(16, 1024, 132, 8192);
  EXPECT_EQ(few.rows * few.columns, 2048);
  heuristics::ChunkShape many = heuristics::spreadChunk(8192, 4096, 132, 8192);
  EXPECT_EQ(many.rows * many.columns, 8192);
}

} // namespace
} // namespace ditron::kernels
