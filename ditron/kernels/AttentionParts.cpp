// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/AttentionParts.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace ditron::kernels {

KeyParts::KeyParts(const Config &config, int64_t tiles, int64_t width)
    : areApart_(config["parts"] != 0), positions_((areApart_ ? config["block"] : tiles) * width),
      count_(areApart_ ? (tiles + config["block"] - 1) / config["block"] : 1) {}

Terms KeyParts::keys(int64_t part, int64_t numKeys) const {
  int64_t first = part * positions_;
  return {first, std::clamp(numKeys, first, first + positions_)};
}

std::vector<Expected>
KeyParts::expected(const OutputRow &row, bool areSizes,
                   const std::function<AttentionOf(int64_t, int64_t)> &ofPart) const {
  std::vector<Expected> result;
  if (!areSizes) {
    AttentionOf one = ofPart(row.row / count_, row.row % count_);
    if (!areApart_ || one.numKeys)
      return attendedTo(one, row.columns);
    return std::vector(row.columns.size(), Expected::undefined());
  }
  for (int64_t part : row.columns)
    result.push_back(attendedSize(ofPart(row.row, part)));
  return result;
}

std::vector<ConfigParameter> decodeParameters(const std::string &n) {
  return {{"m", "heads of queries that share a head of keys, at least", {}},
          {"n", n, {}},
          {"d", "elements of a head, at least", {}},
          {"block", "tiles of keys that are attended to apart; 0: all together", {}, {}, 0},
          {"by", "how keys are multiplied", {}, {"tiles", "elements"}, 0},
          {"readers",
           "warps that read keys together: by elements 4, and twice the keys a part with 8; by "
           "tiles 8 read up to 3 at once",
           {4, 8}},
          {"parts", "the results, those of parts or of all", {}, {"joined", "apart"}, 0}};
}

heuristics::AttentionShape sharedHeads(const Problem &problem) {
  return {problem["N"] / problem["G"], problem["S"], problem["D"], problem.type};
}

Config decodeDefaults(const heuristics::DecodeTile &tile) {
  return {{"m", tile.m},           {"n", tile.n},           {"d", tile.d}, {"block", tile.block},
          {"by", tile.byElements}, {"readers", tile.warps}, {"parts", 0}};
}

void retileParts(Config &config, const heuristics::DecodeTile &part) {
  constexpr int kMoreReaders = 8;
  bool byElements = config["by"] != 0, hasMore = config["readers"] == kMoreReaders;
  if (!config["parts"] && !byElements && !hasMore)
    return;
  heuristics::DecodeTile tile = part;
  tile.byElements |= byElements;
  tile.warps = hasMore ? kMoreReaders : tile.warps;
  if (tile.byElements && tile.warps == kMoreReaders)
    tile.block *= 2;
  Config all = decodeDefaults(tile);
  for (const Config::Value &value : all.values())
    if (value.name != "parts")
      config.set(value.name, value.value);
}

DecodeAttentionConfig decodeConfig(const Config &config) {
  return {.m = config.get("m"),
          .n = config.get("n"),
          .d = config.get("d"),
          .block = int(config["block"]),
          .byElements = config["by"] != 0,
          .warps = config.get("readers"),
          .apart = config["parts"] != 0,
          .flat = config.valueOr("flat", 0) != 0};
}

void checkParts(const DecodeAttentionConfig &config, const char *kernel) {
  const char *needs = config.byElements ? "by=elements" : config.apart ? "parts=apart" : nullptr;
  if (needs && config.block < 1)
    throw CompileError(
        fmt::format("{}: block is {}, expected 1 or more with {}", kernel, config.block, needs));
  constexpr int kMostByElements = 32; // each has code of its own
  if (config.byElements && config.block > kMostByElements)
    throw CompileError(fmt::format("{}: block is {}, expected at most {} with by=elements", kernel,
                                   config.block, kMostByElements));
}

} // namespace ditron::kernels
