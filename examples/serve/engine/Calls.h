// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rank 0 answers, and the other ranks do what its decoder does: they follow its calls.
#pragma once
#include "model/Decoder.h"
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace serve {

/// The calls of a decoder on their way to those of other ranks, in their order.
class Calls {
public:
  /// To so many ranks, of which 0 is the one that calls.
  explicit Calls(int ranks) : pending_(size_t(ranks)) {}

  void add(const generate::DecoderCall &call);
  /// There are no more.
  void end();
  /// The next one for a rank; waits for it. Nothing behind the last.
  std::optional<generate::DecoderCall> next(int rank);

private:
  std::mutex mutex_; ///< of what follows
  std::condition_variable changed_;
  std::vector<std::deque<generate::DecoderCall>> pending_; ///< by rank
  bool hasEnded_ = false;
};

} // namespace serve
