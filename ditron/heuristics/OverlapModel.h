// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model of the time of a product that is overlapped with a collective, and the choice of how.
//
// The model replays the timeline of one rank; all ranks are alike. It knows three resources: cores,
// which take the tiles of the product in the kernel's order; a transfer engine, which takes chunks in
// the order in which they are sent; and signals, which cost their latency.
//
//   gather          Rank r sends its shard, chunk by chunk, to r-1, r-2, ... So shards arrive here in
//                   the order r+1, r+2, ... Tiles of the own shard come first, the others in the order
//                   of arrival; a tile begins when its chunk is there.
//   reduceScatter   Tiles of rank r+1's rows come first, the own ones last. A chunk is sent when its
//                   last tile is done. An own tile ends when all ranks' parts of its chunk are there.
//                   Where cores send tiles, each travels and is waited for by itself.
//   allReduce       The same, then every chunk of sums is sent to all others. Nothing is left to
//                   multiply while the last one travels.
//
// A transfer of b bytes takes latency + b / bandwidth. A tile takes its share of the rate of
// products, or of the memory's bandwidth where few rows make that the longer one.
#pragma once
#include "ditron/heuristics/Calibration.h"
#include <cstdint>

namespace ditron::heuristics {

/// What the ranks exchange around a product C[rows,N] = A[rows,K] * B[K,N].
enum class Exchange {
  gather,        ///< rows of A, before: each rank has rows / ranks of them
  reduceScatter, ///< sums of C, after: each rank keeps rows / ranks of them
  allReduce      ///< sums of C, after: each rank has all of them
};

/// A product of several ranks. Every extent is 1 or more.
struct OverlapProblem {
  Exchange exchange = Exchange::gather;
  int64_t rows = 1, N = 1, K = 1; ///< of the product that one rank computes
  int64_t ranks = 1, cores = 1;
  int64_t tileM = 128, tileN = 256;
  int64_t operandBytes = 2, resultBytes = 2; ///< of an element of A, and of what is summed
};

/// How it is done. Without overlap the other choices mean nothing.
struct OverlapChoice {
  enum class Engine {
    copy, ///< engines that the host drives: all cores multiply
    core, ///< some of the cores
    tiles ///< the cores that multiply, which send each tile of a sum to the rank that adds it
  };
  bool isOverlapped = true; ///< else the library's product and collective, one after the other
  Engine engine = Engine::copy;
  int64_t chunks = 1;    ///< of a shard
  int64_t commCores = 0; ///< that move data
  int64_t wave =
      0; ///< of an all-reduce: tiles that the cores multiply at a time; the last chunk has
         ///< those of the last wave, the others are equal (0: all are)
  /// Of an all-reduce: in which the tiles of all ranks' parts are computed. Copy engines know 1, and 2
  /// with as many chunks. Of three and more, the own tiles of each come behind the others' of the next one.
  int64_t rounds = 1;

  bool operator==(const OverlapChoice &) const = default;
};

/// Seconds.
struct Prediction {
  double seconds = 0;  ///< of the whole
  double product = 0;  ///< of the tiles alone, on the cores that multiply
  double transfer = 0; ///< until the last chunk has arrived; of a sequence, of its collective
  double stall = 0;    ///< of these seconds, what the product does not explain
};

/// What a choice takes.
Prediction predict(const OverlapProblem &problem, const OverlapChoice &choice,
                   const Calibration &calibration);

/// The choice that takes least; of those within 1 % of it, the one of fewest chunks.
/// `hostCopies`: ranks have engines for copies that the host drives.
OverlapChoice chooseOverlap(const OverlapProblem &problem, const Calibration &calibration,
                            bool hostCopies = true);

/// The same among the choices that overlap, the sequence left out.
OverlapChoice chooseOverlapped(const OverlapProblem &problem, const Calibration &calibration,
                               bool hostCopies = true);

/// The time that no choice can beat: that of the product, or of the bytes over the link.
double limitOf(const OverlapProblem &problem, const Calibration &calibration);

} // namespace ditron::heuristics
