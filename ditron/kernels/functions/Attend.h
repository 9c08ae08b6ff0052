// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions of attention over a cache of keys and values: the queries that share a head of
// keys are the rows of a tile, and keys come tile after tile.
#pragma once
#include "ditron/kernels/functions/Products.h"
#include "ditron/kernels/kernels.h"
#include <limits>
#include <numbers>

namespace ditron::kernels {

/// Attention over some keys, and the logarithm to base 2 of the sum of its weights: 0, and the lowest
/// number, where there are none.
struct Attended {
  Tile o, size;
};

/// A tile of keys, that of their values, and how many of its first ones are seen.
template <class T> struct KeyTile {
  TileRef<T, Access::read> keys, values;
  Index seen;
};

/// Queries `mine` over the keys of these steps: keysOf(j) is tile j.
template <class T>
Attended attend(const DecodeAttentionConfig &cfg, const Tile &mine, const auto &keysOf,
                const Steps &steps, const Tile &scale) {
  constexpr f32 kLowest = std::numeric_limits<f32>::lowest();
  auto steepness = scale * std::numbers::log2e;
  auto column = iota({1, cfg.n}, 1);
  Var top = full<f32>({cfg.m, 1}, kLowest);
  Var total = zeros<f32>(cfg.m, 1), sums = zeros<f32>(cfg.m, cfg.d);
  for (auto step : range(steps.count)) {
    KeyTile<T> tile = keysOf(steps.first + step);
    auto product = dot(mine, transpose(tile.keys)) * steepness;
    // Finite, so that no infinities are subtracted.
    auto scores = select(column < tile.seen, product, kLowest);
    auto next = maximum(top, max(scores, 1));
    auto fading = exp2Flushed(top - next), weights = exp2Flushed(scores - next);
    total = total * fading + sum(weights, 1);
    sums = sums * fading + dot(cast<T>(weights), tile.values);
    top = next;
  }
  auto isAny = total > 0;
  return {sums * select(isAny, 1 / total.get(), 0), select(isAny, top + log2(total), kLowest)};
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
