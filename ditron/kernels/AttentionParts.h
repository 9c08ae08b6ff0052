// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the entries of attention over caches share: keys may be cut into parts of a number of
// positions, so that a part has the same bits however many there are and whoever else is there.
#pragma once
#include "ditron/heuristics/AttentionTiles.h"
#include "ditron/kernels/AttentionEntry.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

/// The parts of a sequence's keys in what a kernel is to compute.
class KeyParts {
public:
  /// Of `tiles` tiles of `width` keys.
  KeyParts(const Config &config, int64_t tiles, int64_t width);

  /// The keys of a part that are among the first `numKeys`.
  Terms keys(int64_t part, int64_t numKeys) const;
  /// A row of o or of the sizes; ofPart(number, part) is what a query attends to, `number` counting the
  /// heads of all queries. The o of a part of no keys is not written.
  std::vector<Expected>
  expected(const OutputRow &row, bool areSizes,
           const std::function<AttentionOf(int64_t number, int64_t part)> &ofPart) const;

private:
  bool areApart_;
  int64_t positions_, count_;
};

/// The parameters of both entries; `n` says what their keys of a step are.
std::vector<ConfigParameter> decodeParameters(const std::string &n);
/// The heads of queries that share a head of keys, over the S positions of a cache or of a page.
heuristics::AttentionShape sharedHeads(const Problem &problem);
/// The variant with the tiles of a heuristic.
Config decodeDefaults(const heuristics::DecodeTile &tile);
/// Gives the tile of parts to a variant whose results are parts, or that asks for elements or more warps; by elements, more
/// warps have larger parts.
void retileParts(Config &config, const heuristics::DecodeTile &part);
DecodeAttentionConfig decodeConfig(const Config &config);
/// CompileError unless the variant can be made.
void checkParts(const DecodeAttentionConfig &config, const char *kernel);

} // namespace ditron::kernels
