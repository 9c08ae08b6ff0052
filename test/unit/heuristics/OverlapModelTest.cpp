// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model of overlapped products: what it predicts for the layers that were measured on a host of
// four H200s, and what it chooses.
#include "ditron/heuristics/OverlapModel.h"
#include "ditron/support/Error.h"
#include <gtest/gtest.h>

namespace ditron::heuristics {
namespace {

using Engine = OverlapChoice::Engine;

const Calibration kHost;

OverlapProblem problem(Exchange exchange, int64_t rows, int64_t N, int64_t K, int64_t ranks) {
  return {.exchange = exchange, .rows = rows, .N = N, .K = K, .ranks = ranks, .cores = 132};
}
OverlapChoice copies(int64_t chunks) { return {true, Engine::copy, chunks, 0}; }
OverlapChoice sequence() { return {.isOverlapped = false}; }

/// M = 8192 on 4 ranks: the parts of N, or of K, that a rank has.
struct Layer {
  Exchange exchange;
  int64_t N, K;
};
const Layer kLayers[] = {
    {Exchange::gather, 2752, 4096},        {Exchange::gather, 7168, 8192},
    {Exchange::gather, 13312, 16384},      {Exchange::reduceScatter, 4096, 2752},
    {Exchange::reduceScatter, 8192, 7168}, {Exchange::reduceScatter, 16384, 13312}};

/// Overlapped kernels that were measured on four GPUs, with the product alone in the same run.
struct Measured {
  Exchange exchange;
  int64_t N, K, tileN;
  double product, overlapped, sequence; ///< ms
  int64_t chunks;                       ///< of the fastest
};
const Measured kMeasured[] = {
    {Exchange::gather, 2752, 4096, 176, .2475, .2458, .438, 1},
    {Exchange::gather, 3584, 4096, 256, .3213, .3260, .520, 1},
    {Exchange::gather, 7168, 8192, 256, 1.385, 1.369, 1.759, 1},
    {Exchange::gather, 13312, 16384, 256, 5.208, 5.184, 5.945, 1},
    {Exchange::reduceScatter, 4096, 2752, 256, .2412, .2664, .427, 2},
    {Exchange::reduceScatter, 4096, 3584, 256, .3139, .3273, .502, 2},
};

/// Each of 10^12 tiles would be replayed for hours.
TEST(Overlap, ReplaysManyTilesAsFewerOnes) {
  for (Exchange exchange : {Exchange::gather, Exchange::reduceScatter, Exchange::allReduce})
    for (const auto &[rows, N] :
         {std::pair(int64_t(1) << 40, int64_t(1) << 17), {int64_t(1) << 17, int64_t(1) << 40}}) {
      OverlapProblem huge = problem(exchange, rows, N, 4096, 2);
      OverlapProblem small = huge;
      small.rows = std::min(rows, int64_t(1) << 17), small.N = std::min(N, int64_t(1) << 17);
      double scale = double(rows) / double(small.rows) * double(N) / double(small.N);
      for (const OverlapChoice &choice : {copies(2), sequence()}) {
        double expected = scale * predict(small, choice, kHost).seconds;
        EXPECT_NEAR(predict(huge, choice, kHost).seconds, expected, 0.1 * expected);
      }
    }
}

TEST(Overlap, PredictsWhatWasMeasured) {
  for (const Measured &one : kMeasured) {
    OverlapProblem p = problem(one.exchange, 8192, one.N, one.K, 4);
    p.tileN = one.tileN;
    Calibration run = kHost;
    run.flops = 2.0 * 8192 * double(one.N) * double(one.K) / (one.product * 1e-3);
    OverlapChoice choice = chooseOverlap(p, run);
    EXPECT_EQ(choice, copies(one.chunks)) << one.N;
    EXPECT_NEAR(predict(p, choice, run).seconds * 1e3, one.overlapped, 0.08 * one.overlapped);
    EXPECT_NEAR(predict(p, sequence(), run).seconds * 1e3, one.sequence, 0.08 * one.sequence);
  }
}

TEST(Overlap, HidesTransfersOfLargeLayers) {
  for (const Layer &layer : kLayers) {
    OverlapProblem p = problem(layer.exchange, 8192, layer.N, layer.K, 4);
    OverlapChoice choice = chooseOverlap(p, kHost);
    Prediction found = predict(p, choice, kHost);
    EXPECT_TRUE(choice.isOverlapped);
    EXPECT_EQ(choice.engine, Engine::copy);
    EXPECT_LE(found.seconds, 1.15 * found.product) << layer.N;
    EXPECT_GE(predict(p, sequence(), kHost).seconds, 1.1 * found.seconds) << layer.N;
  }
}

TEST(Overlap, TakesFewChunksWhereACopyCostsMuch) {
  OverlapProblem p = problem(Exchange::gather, 8192, 2752, 4096, 4);
  EXPECT_EQ(chooseOverlap(p, kHost), copies(1));
  EXPECT_GT(predict(p, copies(8), kHost).seconds, 1.1 * predict(p, copies(1), kHost).seconds);
}

TEST(Overlap, TakesMoreChunksWhereTheLastOneIsWaitedFor) {
  OverlapProblem p = problem(Exchange::allReduce, 8192, 8192, 4096, 2);
  OverlapChoice choice = chooseOverlap(p, kHost);
  EXPECT_GT(choice.chunks, 1);
  EXPECT_LT(predict(p, choice, kHost).seconds, predict(p, copies(1), kHost).seconds);
}

TEST(Overlap, SendsTheLastWaveByItself) {
  OverlapProblem p =
      problem(Exchange::allReduce, 8192, 3584, 7168, 2); // 896 tiles, 104 in the last wave
  OverlapChoice equal = copies(2), last = equal;
  last.wave = 132;
  double left = 104.0 * 128 * 256 * 2 / kHost.copyBandwidth + kHost.copyLatency;
  Prediction found = predict(p, last, kHost);
  EXPECT_NEAR(found.stall, left + kHost.signalLatency, 1e-9);
  EXPECT_GT(predict(p, equal, kHost).stall, 1.7 * found.stall);
}

/// Where the link has more to do than the cores, sums that leave early save what they take.
TEST(Overlap, SendsHalvesOfShortProducts) {
  OverlapChoice whole = copies(2), halves = copies(2);
  whole.wave = 132, halves.rounds = 2;
  auto gain = [&](int64_t K) {
    OverlapProblem p = problem(Exchange::allReduce, 8192, 4096, K, 4);
    return predict(p, whole, kHost).seconds / predict(p, halves, kHost).seconds;
  };
  EXPECT_GT(gain(3584), 1.03);
  EXPECT_LT(gain(16384), 1);
}

/// Tiles that travel by themselves leave nothing of a short product's sums to the end, as large copies do.
TEST(Overlap, SendsTilesOfShortProducts) {
  OverlapChoice tiles;
  tiles.engine = OverlapChoice::Engine::tiles;
  OverlapProblem scattered = problem(Exchange::reduceScatter, 4096, 4096, 2048, 4);
  EXPECT_LT(predict(scattered, tiles, kHost).seconds, predict(scattered, copies(1), kHost).seconds);
  OverlapProblem reduced = problem(Exchange::allReduce, 8192, 4096, 2752, 4);
  OverlapChoice rounds = tiles;
  rounds.rounds = 2;
  EXPECT_LT(predict(reduced, rounds, kHost).seconds, predict(reduced, tiles, kHost).seconds);
  for (int64_t count : {3, 4, 8}) { // no owner waits for what others compute at the same time
    OverlapChoice more = rounds;
    more.rounds = count;
    EXPECT_LT(predict(reduced, more, kHost).seconds, predict(reduced, tiles, kHost).seconds)
        << count;
  }
  OverlapProblem alone = problem(Exchange::allReduce, 8192, 4096, 2752, 1);
  EXPECT_EQ(predict(alone, tiles, kHost).stall, 0);
}

TEST(Overlap, FallsBackToTheSequence) {
  Calibration slow = kHost;
  slow.copyLatency = slow.signalLatency = 10e-3;
  for (Exchange exchange : {Exchange::gather, Exchange::reduceScatter, Exchange::allReduce}) {
    OverlapProblem p = problem(exchange, 4096, 4096, 2048, 4);
    EXPECT_FALSE(chooseOverlap(p, slow).isOverlapped);
    EXPECT_TRUE(chooseOverlapped(p, slow).isOverlapped);
  }
}

TEST(Overlap, TakesCoresWhereTheHostCopiesNothing) {
  OverlapProblem p = problem(Exchange::gather, 8192, 7168, 8192, 4);
  OverlapChoice choice = chooseOverlap(p, kHost, /*hostCopies=*/false);
  EXPECT_EQ(choice.engine, Engine::core);
  EXPECT_GE(choice.commCores, 8);
}

TEST(Overlap, IsNeverSlowerThanTheSequenceNorFasterThanTheLimit) {
  for (Exchange exchange : {Exchange::gather, Exchange::reduceScatter, Exchange::allReduce})
    for (int64_t rows : {1, 32, 997, 4096, 16364})
      for (int64_t N : {1, 5120, 13311})
        for (int64_t K : {1, 1024, 25600})
          for (int64_t ranks : {1, 2, 3, 8}) {
            OverlapProblem p = problem(exchange, rows, N, K, ranks);
            Prediction found = predict(p, chooseOverlap(p, kHost), kHost);
            EXPECT_LE(found.seconds, 1.0101 * predict(p, sequence(), kHost).seconds);
            EXPECT_GE(found.seconds, 0.9999 * limitOf(p, kHost));
            EXPECT_GE(found.stall, 0);
          }
}

TEST(Overlap, WaitsForNobodyOnOneRank) {
  OverlapProblem p = problem(Exchange::gather, 4096, 4096, 4096, 1);
  Prediction found = predict(p, copies(1), kHost);
  EXPECT_DOUBLE_EQ(found.seconds, found.product);
  EXPECT_EQ(found.transfer, 0);
}

TEST(Overlap, KnowsThatMemoryBoundsFewRows) {
  OverlapProblem p = problem(Exchange::allReduce, 32, 5120, 6400, 4);
  double weights = 2.0 * 5120 * 6400 / kHost.memoryBandwidth;
  EXPECT_GE(predict(p, sequence(), kHost).product, weights);
}

TEST(Calibration, IsReadAsItIsWritten) {
  Calibration other;
  other.copyBandwidth = 123e9;
  other.signalLatency = 2.5e-6;
  Calibration read = Calibration::parse(other.text());
  EXPECT_EQ(read.copyBandwidth, 123e9);
  EXPECT_EQ(read.signalLatency, 2.5e-6);
  EXPECT_EQ(read.flops, Calibration().flops);
  EXPECT_EQ(Calibration::parse("").copyLatency, Calibration().copyLatency);
}

TEST(Calibration, RefusesWhatItDoesNotKnow) {
  for (const char *line : {"speed 3", "flops", "flops 0", "flops -1", "flops fast", "flops 1 2",
                           "flops inf", "flops nan"})
    try {
      Calibration::parse(line);
      ADD_FAILURE() << line;
    } catch (const UsageError &error) {
      EXPECT_EQ(error.what(),
                "calibration: '" + std::string(line) + "': expected a name and a positive number");
    }
}

} // namespace
} // namespace ditron::heuristics
