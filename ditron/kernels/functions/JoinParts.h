// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention over all keys, of that over each of some parts of them: the parts weighted by the sums of
// weights that they had (Dao et al., "Flash-Decoding for long-context inference").
#pragma once
#include "ditron/kernels/functions/Attend.h"
#include "ditron/lang/Dist.h"
#include <algorithm>

namespace ditron::kernels {

/// Columns j of the o over all keys: x[P,D] is what parts have, of these sizes[P]. Those without keys
/// are the last ones; what is in x there is not looked at.
template <Access access>
Tile joinedParts(const CombineAttentionConfig &cfg, const View<f32, 2, access> &x,
                 const View<f32, 1, access> &sizes, Index j) {
  auto sizesAt = [&](Index step) { return Tile(sizes.tiled(cfg.parts)(step).padded(kNoSize)); };
  auto xs = x.tiled(cfg.parts, cfg.d);
  Var top = full<f32>({1}, kNoSize), total = zeros<f32>(1), sums = zeros<f32>(1, cfg.d);
  auto add = [&](Index step) {
    Tile size = sizesAt(step), read = xs(step, j); // asked for together
    Tile next = maximum(top, max(size, 0)), fading = exp2Flushed(top - next);
    Tile weights = select(size != kNoSize, exp2Flushed(size - next), 0); // NaN stays one
    Tile column = reshape(weights, {cfg.parts, 1});
    Tile ofWeights = sum(weights, 0), ofParts = sum(select(column != 0, read * column, 0), 0);
    total = total * fading + ofWeights;
    sums = sums * reshape(fading, {1, 1}) + ofParts;
    top = next;
  };
  add(0);
  for (auto more : range(ceilDiv(sizes.size(), cfg.parts) - 1)) {
    auto hasKeys = select(sizes.read({(more + 1) * cfg.parts}) != kNoSize, toTile(1), 0);
    when(toIndex(hasKeys) > 0, [&] { add(more + 1); });
  }
  return reshape(sums * select(total != 0, 1 / total.get(), 0), {cfg.d});
}

/// Parts of keys that cores of one kernel attend to, and join once all of a head's are there: of B
/// queries, N heads of them that share G heads of keys, D elements and P parts.
class PartsInMemory {
public:
  PartsInMemory(const DecodeAttentionConfig &cfg, Index B, Index N, Index G, Index D, Index P)
      : cfg_{partsAtATime(cfg), cfg.d}, together_(N / G), count_(P),
        o_(symmetric<f32>({B, N, P, D}, "parts")), sizes_(symmetric<f32>({B, N, P}, "sizes")),
        done_(signals({B, G}, "done")) {}

  const Symmetric<f32, 4> &o() const { return o_; }
  const Symmetric<f32, 3> &sizes() const { return sizes_; }
  /// A part of the heads that share keys g is there.
  void add(Index b, Index g) const { notify(done_(b, g)); }
  /// Columns j of a head, once all of its parts are there.
  Tile joined(Index b, Index n, Index j) const {
    wait(done_(b, n / together_), count_);
    return joinedParts(cfg_, o_.at(b).at(n), sizes_.at(b).at(n), j);
  }

private:
  /// Elements of as many parts as four warps join; of large parts, of which sequences have few, as many
  /// as kKeys keys have.
  static int partsAtATime(const DecodeAttentionConfig &cfg) {
    constexpr int kElements = 2048, kKeys = 1024;
    int most = std::clamp(kElements / cfg.d, 1, heuristics::kPartsAtATime);
    return cfg.byElements ? most : std::clamp(kKeys / (cfg.n * cfg.block), 1, most);
  }

  CombineAttentionConfig cfg_;
  Index together_, count_;
  Symmetric<f32, 4> o_;
  Symmetric<f32, 3> sizes_;
  SignalArray<2, false> done_;
};

} // namespace ditron::kernels
