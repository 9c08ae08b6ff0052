// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions of attention over a cache of keys and values: the queries that share a head of
// keys are attended to together, so that keys are read once, and keys come tile after tile.
#pragma once
#include "ditron/heuristics/AttentionTiles.h"
#include "ditron/kernels/functions/Products.h"
#include "ditron/kernels/kernels.h"
#include <bit>
#include <limits>
#include <numbers>
#include <numeric>

namespace ditron::kernels {

/// The size of no keys; finite, so that no infinities are subtracted.
inline constexpr f32 kNoSize = std::numeric_limits<f32>::lowest();

/// Attention over some keys, and the logarithm to base 2 of the sum of its weights: 0, and kNoSize,
/// where there are none.
struct Attended {
  Tile o, size;
};

/// A tile of keys: number `index` of the views, whose rows behind the last key are none of theirs.
/// The first `seen` of its keys are seen.
template <class T> struct KeyTile {
  View<T, 2, Access::read> keys, values;
  Index index, seen;
};

/// Whether a tile of keys is known to be one of the sequence's; others may stand behind its last one, and
/// nothing of them is seen.
enum class Known { no, yes };

/// Queries `mine` over the keys of these steps: keysOf.from(j) is a function of the steps behind j, which
/// gives their tiles one after the other.
template <class T>
Attended attend(const DecodeAttentionConfig &cfg, const Tile &mine, const auto &keysOf,
                const Steps &steps, const Tile &scale) {
  auto nextKeys = keysOf.from(steps.first);
  auto steepness = scale * std::numbers::log2e;
  auto column = iota({1, cfg.n}, 1);
  Var top = full<f32>({cfg.m, 1}, kNoSize);
  Var total = zeros<f32>(cfg.m, 1), sums = zeros<f32>(cfg.m, cfg.d);
  for (auto step : range(steps.count)) {
    KeyTile<T> tile = nextKeys(steps.first + step);
    auto product = dot(mine, transpose(tile.keys.tiled(cfg.n, cfg.d)(tile.index, 0))) * steepness;
    auto scores = select(column < tile.seen, product, kNoSize);
    auto next = maximum(top, max(scores, 1));
    auto fading = exp2Flushed(top - next), weights = exp2Flushed(scores - next);
    total = total * fading + sum(weights, 1);
    sums = sums * fading + dot(cast<T>(weights), tile.values.tiled(cfg.n, cfg.d)(tile.index, 0));
    top = next;
  }
  auto isAny = total != 0; // NaN, of keys that are no numbers, stays one
  return {sums * select(isAny, 1 / total.get(), 0),
          select(isAny, top + log2Approximate(total), kNoSize)};
}

/// Each of these.
std::vector<Tile> ofEach(const std::vector<Tile> &tiles, const auto &make) {
  std::vector<Tile> made;
  for (const Tile &tile : tiles)
    made.push_back(make(tile));
  return made;
}

/// All of these in one, element by element.
Tile joined(const std::vector<Tile> &tiles, const auto &join) {
  Var all = tiles.front();
  for (size_t n = 1; n < tiles.size(); ++n)
    all = join(all, tiles[n]);
  return all;
}
inline Tile largestOf(const std::vector<Tile> &tiles) {
  return joined(tiles, [](const auto &x, const auto &y) { return maximum(x, y); });
}
inline Tile sumOf(const std::vector<Tile> &tiles) {
  return joined(tiles, [](const auto &x, const auto &y) { return x + y; });
}

/// The same over a few tiles of keys, which are all asked for, with their values, before mine() are. The first one has
/// keys that are seen.
template <class T>
Attended attendAtOnce(const DecodeAttentionConfig &cfg, const auto &mine,
                      const std::vector<KeyTile<T>> &tiles, const Tile &scale) {
  std::vector<Tile> keys, values;
  for (const KeyTile<T> &tile : tiles)
    keys.push_back(tile.keys.tiled(cfg.n, cfg.d)(tile.index, 0));
  for (const KeyTile<T> &tile : tiles)
    values.push_back(tile.values.tiled(cfg.n, cfg.d)(tile.index, 0));
  Tile queries = mine();
  std::vector<Tile> scores, sums;
  for (size_t n = 0; n < tiles.size(); ++n) {
    auto product = dot(queries, transpose(keys[n])) * (scale * std::numbers::log2e);
    scores.push_back(select(iota({1, cfg.n}, 1) < tiles[n].seen, product, kNoSize));
  }
  Tile top = max(largestOf(scores), 1);
  std::vector<Tile> weights =
      ofEach(scores, [&](const Tile &some) { return exp2Flushed(some - top); });
  for (size_t n = 0; n < tiles.size(); ++n)
    sums.push_back(dot(cast<T>(weights[n]), values[n]));
  Tile total = sum(sumOf(weights), 1);
  return {sumOf(sums) / total, top + log2Approximate(total)};
}

//===-- Element by element --------------------------------------------------------------------===//

/// Rows of keys and of their values that a CTA reads at a time, 16 bytes a thread; which of them are
/// seen.
struct KeyRows {
  Tile keys, values, isSeen;
};

/// All rows of some tiles of keys, read before anything is computed, so that all of them are on their
/// way.
template <class T>
std::vector<KeyRows> readKeys(const DecodeAttentionConfig &cfg, const auto &keysOf, Index first) {
  int bytes = cfg.warps * 32 * 16; // of all threads
  auto most = unsigned(std::max<int>(1, bytes / (cfg.d * int(byteSize(kDType<T>)))));
  int rows = std::gcd(cfg.n, int(std::bit_floor(most)));
  std::vector<KeyRows> result;
  for (int j = 0; j < cfg.block; ++j) {
    KeyTile<T> tile = keysOf(first + j, Known::no);
    for (int n = 0; n < cfg.n; n += rows) {
      auto read = [&](const auto &view) {
        return Tile(view.tiled(rows, cfg.d)(tile.index * (cfg.n / rows) + n / rows, 0));
      };
      result.push_back({read(tile.keys), read(tile.values), iota({rows, 1}, 0) + n < tile.seen});
    }
  }
  return result;
}

/// Of each head, the scores of each of these rows. What a row of keys is converted to meets all heads
/// at once.
inline std::vector<std::vector<Tile>> scoresOf(const std::vector<KeyRows> &rows,
                                               const std::vector<Tile> &queries) {
  std::vector<std::vector<Tile>> scores(queries.size());
  for (const KeyRows &one : rows) {
    Tile keys = cast<f32>(one.keys);
    for (size_t head = 0; head < queries.size(); ++head)
      scores[head].push_back(select(one.isSeen, sum(keys * queries[head], 1), kNoSize));
  }
  return scores;
}

/// The heads of q over the keys of cfg.block tiles, `first` and those behind it, some of which are
/// seen: where a few heads share keys, a tile of a tensor core would be almost empty.
template <class T>
std::vector<Attended> attendByElements(const DecodeAttentionConfig &cfg,
                                       const View<T, 2, Access::read> &q, const auto &keysOf,
                                       Index first, const Tile &scale) {
  std::vector<KeyRows> rows = readKeys<T>(cfg, keysOf, first);
  auto steepness = scale * std::numbers::log2e;
  std::vector<Tile> queries;
  for (int head = 0; head < cfg.m; ++head)
    queries.push_back(cast<f32>(Tile(q.tiled(1, cfg.d)(head, 0))) * steepness);
  // What all threads of a CTA come to together is asked for head after head, for them to meet once.
  std::vector<std::vector<Tile>> scores = scoresOf(rows, queries);
  std::vector<Tile> mosts, tops, totals, sums;
  for (const std::vector<Tile> &some : scores)
    mosts.push_back(largestOf(some));
  tops = ofEach(mosts, [](const Tile &most) { return max(most, 0); });
  for (size_t head = 0; head < tops.size(); ++head) {
    std::vector<Tile> weights, values;
    for (size_t n = 0; n < rows.size(); ++n) {
      weights.push_back(exp2Flushed(scores[head][n] - tops[head]));
      values.push_back(weights[n] * cast<f32>(rows[n].values));
    }
    totals.push_back(sumOf(weights));
    sums.push_back(sumOf(values));
  }
  auto overRows = [](const Tile &some) { return sum(some, 0); };
  totals = ofEach(totals, overRows);
  sums = ofEach(sums, overRows);
  std::vector<Attended> heads;
  for (size_t head = 0; head < tops.size(); ++head)
    heads.push_back({sums[head] / totals[head], tops[head] + log2Approximate(totals[head])});
  return heads;
}

//===-- Parts ---------------------------------------------------------------------------------===//

/// What a part of no keys leaves behind the first `count` parts, which have some: a size. Its o is zeros beside parts
/// that have keys, and beside the first one, else nothing.
inline void leaveEmpty(const DecodeAttentionConfig &cfg, Index part, Index count, const auto &o,
                       const auto &sizes) {
  sizes().tiled(cfg.m, 1)(0, 0) = full<f32>({cfg.m, 1}, kNoSize);
  constexpr int kTogether = heuristics::kPartsAtATime;
  Index groups = max(1, ceilDiv(count, kTogether)); // that are read
  when(part < groups * kTogether,
       [&] { o().tiled(cfg.m, cfg.d)(0, 0) = zeros<f32>(cfg.m, cfg.d); });
}

/// Part `part` of `numTiles` tiles of keys, for the heads q[H,D]: o()[H,D] and sizes()[H,1], which are found when they are
/// there to be written: threads have no registers for their places before.
template <class T>
void attendToPart(const DecodeAttentionConfig &cfg, const View<T, 2, Access::read> &q,
                  const auto &keysOf, Index part, Index numTiles, const Tile &scale, const auto &o,
                  const auto &sizes) {
  Index first = part * cfg.block;
  auto some = [&] {
    auto mine = [&] { return Tile(q.tiled(cfg.m, cfg.d)(0, 0)); };
    auto all = [&] {
      Steps steps(first, min(numTiles, first + cfg.block));
      return attend<T>(cfg, mine(), keysOf, steps, scale);
    };
    auto atOnce = [&] {
      std::vector<KeyTile<T>> tiles; // found before the queries are there
      for (int j = 0; j < cfg.block; ++j)
        tiles.push_back(keysOf(first + j, j == 0 ? Known::yes : Known::no));
      return attendAtOnce<T>(cfg, mine, tiles, scale);
    };
    constexpr int kMostAtOnce = 3, kReaders = 8; // for which so many warps have registers
    bool isAtOnce = cfg.block == 1 || (cfg.block <= kMostAtOnce && cfg.warps == kReaders);
    auto [result, size] = isAtOnce ? atOnce() : all();
    o().tiled(cfg.m, cfg.d)(0, 0) = result;
    sizes().tiled(cfg.m, 1)(0, 0) = size;
  };
  auto byElements = [&] {
    std::vector<Attended> heads = attendByElements<T>(cfg, q, keysOf, first, scale);
    auto os = o();
    auto totals = sizes();
    for (int head = 0; head < cfg.m; ++head) {
      os.tiled(1, cfg.d)(head, 0) = heads[size_t(head)].o;
      totals.tiled(1, 1)(head, 0) = heads[size_t(head)].size;
    }
  };
  auto none = [&] { leaveEmpty(cfg, part, ceilDiv(numTiles, cfg.block), o, sizes); };
  if (cfg.byElements)
    when(first < numTiles, byElements, none);
  else
    when(first < numTiles, some, none);
}

/// Ends the launch unless heads as these fit the variant.
template <class T>
void checkHeads(const DecodeAttentionConfig &cfg, const In<T, 3> &q, const In<T, 4> &keys) {
  Index N = q.dim(1), G = keys.dim(1);
  require(q.cols() <= cfg.d, "the heads have {} elements, this variant takes up to {}",
          {q.cols(), cfg.d});
  require(N % G == 0, "{} heads of queries do not share {} heads of keys", {N, G});
  require(N <= G * cfg.m, "{} heads of queries share a head of keys, this variant takes up to {}",
          {N / G, cfg.m});
}

} // namespace ditron::kernels
