// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace generate {

/// Which elements of a head rope turns together: neighbours, or those half a head apart.
enum class RopePairs { adjacent, halves };

/// What a decoder of the Llama and Qwen3 families is built of.
struct Architecture {
  int64_t layers = 0, width = 0, feedForward = 0;
  int64_t heads = 0, keyHeads = 0, headSize = 0;
  int64_t vocabulary = 0, context = 0;
  double epsilon = 0; ///< of the norms
  double ropeBase = 0;
  /// Each pair's angle is divided by its factor; empty: all are 1.
  std::vector<double> ropeFactors;
  RopePairs ropePairs = RopePairs::halves;
  bool hasHeadNorms = false; ///< queries and keys are normalised by head
  /// Whether the file says that the head's weights are those of the embedding, or are not.
  std::optional<bool> isTied;

  /// RuntimeError naming the file and a size that no model of ours has.
  void check(const std::string &path) const;
  /// The part of one of so many ranks: of the heads and of the feed-forward layers. UsageError where
  /// they do not divide by the ranks.
  Architecture shard(int64_t ranks) const;
  /// The rows that a rank has of the matrix that gives logits: all where ranks cannot have as many each.
  int64_t headRows(int64_t ranks) const;
  /// Rows of queries, keys and values together.
  int64_t qkvRows() const { return (heads + 2 * keyHeads) * headSize; }
};

} // namespace generate
