// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a launch passes to compiled code beside the arguments of the program, on every backend.
//
// The words of arguments (Argument.h) come first, then in the same form those of the kernel's
// symmetric memory. Code for a CPU gets the address of them, and of the context of its core, whose
// first fields it reads. Code for a GPU gets them as parameters, and behind them the words of
// LaunchWord.
#pragma once
#include "ditron/abi/WorkspaceLayout.h"
#include <cstdint>
#include <span>
#include <vector>

namespace ditron::abi {

/// Appends a view: its address, extents and strides.
void addView(std::vector<int64_t> &words, int64_t address, std::span<const int64_t> extents,
             std::span<const int64_t> strides);

//===-- CPUs ----------------------------------------------------------------------------------===//

/// What code for a CPU reads of the context of its core: bytes from its beginning, which
/// runtime/CoreContext.h is held to.
enum class CoreField : int64_t {
  rank = 0,
  ranks = 8,
  core = 16,
  cores = 24,
  localRanks = 32,
  scratch = 40, ///< the address of KernelInfo::scratchBytes bytes
  scratchBytes = 48,
  log = 56,
  words = 64, ///< the address of the words of the launch
};

//===-- GPUs ----------------------------------------------------------------------------------===//

/// The parameters behind those of the arguments and symmetric memory: `kStatus` always, the others
/// for a kernel that is distributed (KernelInfo).
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

/// What these words are made of, beside the layout of the workspace.
struct RankLaunch {
  int64_t status, rank, ranks, stride, head, bound;
};

/// All words behind those of the arguments, for a distributed kernel.
std::vector<int64_t> distributedWords(const WorkspaceLayout &layout, const RankLaunch &launch);

/// The status of a launch, on the rank's own GPU, in words of 64 bits: first what ended it. A
/// requirement that does not hold is noted with its number and values. Each core has two records of
/// the wait that outlived its bound, or stood when another did: of the threads that compute and of
/// the producer.
struct Status {
  static constexpr int64_t kFailed = 0; ///< 1: a requirement, of the number in the next word
  static constexpr int64_t kNumber = 1, kValues = 2;
  static constexpr int64_t kLog = 31; ///< the address of the log (DeviceLog.h) of recorded code
  static constexpr int64_t kRecords = 32;
  /// Site + 1 and, from bit 32 on, the launch; address of the counter, expected, seen. Of the first
  /// wait that failed.
  static constexpr int64_t kRecordWords = 4;
  static constexpr int64_t siteOf(int64_t word) { return (word & 0xffffffff) - 1; }
  static constexpr int64_t launchOf(int64_t word) { return word >> 32; }
  static constexpr int64_t kMostCores = 4096;
  static constexpr int64_t kWords = kRecords + 2 * kMostCores * kRecordWords;
};

/// The site of the wait that a launch begins with.
constexpr int64_t kBeginSite = 0;

} // namespace ditron::abi
