// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel of several ranks and its launcher agree on where ranks are GPUs: the words that a
// launch passes, and the memory that they name.
//
// A workspace is what a kernel has at one set of sizes, on every rank at the same offset; the next
// rank's lies `stride` bytes further. It is a head, 4 pages of signals and 2 pages of buffers.
// Launches of a workspace are numbered 1, 2, 3, ... on every rank. Launch e uses page e mod 4 of
// the signals, which are 0 when it begins and only grow, and page e mod 2 of the buffers.
//
// Nobody resets anything between launches, and the host need not know their numbers: a launch reads
// its own from the head. Before it does anything it waits until every rank has completed launch
// e-2, so a rank may be ahead of another by one launch, not by two. Then it zeroes page (e-2) mod 4
// of its own signals. That page is at rest: all ranks are through with e-2; and nobody notifies it
// before launch e+2 begins somewhere, which is after this rank has completed e, with the zeros
// before that. The last core of a rank to end says to every rank that it has completed e.
//
// A launch that fails sets `aborted` in every rank's head. From then on no wait waits: kernels run
// to their end on whatever they find, the launcher raises the error, and the workspace is given up.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ditron::gpu {

constexpr int64_t kMostRanks = 64;
constexpr int64_t kSignalPages = 4, kBufferPages = 2;

/// The head of a workspace: byte offsets of its words of 64 bits.
struct Head {
  static constexpr int64_t kEpoch = 0;      ///< of the launch that this rank completed last
  static constexpr int64_t kArrived = 8;    ///< its cores that have ended the running one: 32 bits
  static constexpr int64_t kAborted = 16;   ///< not 0: no wait waits
  static constexpr int64_t kCompleted = 64; ///< for each rank, the launch that it completed last
  static constexpr int64_t kBytes = 1024;   ///< signals begin here
  static_assert(kCompleted + 8 * kMostRanks <= kBytes);
};

/// The words that a launch passes behind those of the kernel's arguments and symmetric memory:
/// `kStatus` always, the others to kernels that ask for ranks.
enum LaunchWord : int {
  kStatus, ///< the address of the status
  kRank,
  kRanks,
  kStride,     ///< bytes from a rank's workspace to the next one's
  kHead,       ///< the address of this rank's workspace
  kSignalPage, ///< bytes of a page of signals
  kBufferPage, ///< likewise of buffers
  kCells,      ///< signals of a page
  kBound,      ///< of waits, in ns
  kLaunchWords
};

/// The status of a launch, on the rank's own GPU, in words of 64 bits: first what ended it. A
/// requirement that does not hold is noted with its number and values. Each core has two records of
/// the wait that outlived its bound, or stood when another did: of the threads that compute and of
/// the one that feeds them.
struct Status {
  static constexpr int64_t kFailed = 0; ///< 1: a requirement, of the number in the next word
  static constexpr int64_t kNumber = 1, kValues = 2;
  static constexpr int64_t kRecords = 32;
  static constexpr int64_t kRecordWords = 4; ///< site + 1, address of the counter, expected, seen
  static constexpr int64_t kMostCores = 4096;
  static constexpr int64_t kWords = kRecords + 2 * kMostCores * kRecordWords;
};

/// The site of the wait that a launch begins with.
constexpr int64_t kBeginSite = 0;

} // namespace ditron::gpu
