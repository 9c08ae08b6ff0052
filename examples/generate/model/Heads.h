// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions of the heads of a step's rows: how they are turned by the angles of their positions.
#pragma once
#include "ditron/kernels/kernels.h"
#include "ditron/lang/Tile.h"
#include "model/Architecture.h"
#include <fmt/format.h>
#include <optional>
#include <string>

namespace generate {

using ditron::Access, ditron::cast, ditron::f32, ditron::In, ditron::Index, ditron::Scalar,
    ditron::Tile, ditron::View;

/// The first (0) or second (1) elements of the pairs of each head: of x[..,D], a view of [..,D/2].
template <class T, int rank, Access access>
View<T, rank, access> elementsOf(const View<T, rank, access> &x, RopePairs pairs, int which) {
  Index half = x.cols() / 2;
  if (pairs == RopePairs::adjacent)
    return x.split(rank - 1, half).at(rank, which);
  return x.slice(rank - 1, which * half, half);
}

/// Some heads in two tiles, a row a head: the first elements of their pairs, and the second ones.
struct Halves {
  Tile first, second;
};

inline Halves turned(const Halves &heads, const Halves &angle) {
  auto [cosine, sine] = angle;
  return {heads.first * cosine - heads.second * sine, heads.second * cosine + heads.first * sine};
}

/// Each head divided by the root of the mean of its squares, times the norm's gains.
inline Halves normalised(const Halves &heads, const Halves &gain, const Tile &eps) {
  Tile squares = sum(heads.first * heads.first + heads.second * heads.second, 1);
  Tile scale = rsqrt(squares / (2.0 * double(heads.first.shape()[1])) + eps);
  return {heads.first * scale * gain.first, heads.second * scale * gain.second};
}

/// How heads are taken together.
struct HeadTiles {
  int heads, half;
  RopePairs pairs;

  Index count(Index all) const { return ceilDiv(all, heads); }
  /// Tile `i` of the heads of a view [H,D].
  template <class V> Halves load(const V &view, Index i) const {
    Tile first = elementsOf(view, pairs, 0).tiled(heads, half)(i, 0); // before the second one
    return {first, elementsOf(view, pairs, 1).tiled(heads, half)(i, 0)};
  }
  template <class T, class V> void store(const V &view, Index i, const Halves &halves) const {
    elementsOf(view, pairs, 0).tiled(heads, half)(i, 0) = cast<T>(halves.first);
    elementsOf(view, pairs, 1).tiled(heads, half)(i, 0) = cast<T>(halves.second);
  }
  /// What all heads take: a row of a table, or gains.
  Tile row(const In<f32> &table, Index i) const { return table.tiled(1, half)(i, 0); }
  Halves gains(const In<f32, 1> &view) const {
    Tile first = elementsOf(view, pairs, 0).tiled(half)(0);
    Tile second = elementsOf(view, pairs, 1).tiled(half)(0);
    return {reshape(first, {1, half}), reshape(second, {1, half})};
  }
  /// Both, as they lie in memory: [heads,D].
  Tile joined(const Halves &halves) const {
    bool areApart = pairs == RopePairs::halves;
    std::vector<int64_t> place = {1, areApart ? 2 : 1, areApart ? 1 : 2};
    std::vector<int64_t> one = {heads, areApart ? 1 : half, areApart ? half : 1};
    Tile all = select(ditron::iota(place, areApart ? 1 : 2) == 0, reshape(halves.first, one),
                      reshape(halves.second, one));
    return reshape(all, {heads, 2 * half});
  }
};

/// What turns the heads of a row: the norm of a model that has one for its heads, then the angle.
struct HeadTurn {
  Halves angle;
  std::optional<Scalar<f32>> eps;

  /// Tile `number` of the heads of a view, with the gains of `norm`.
  template <class V>
  Halves operator()(const HeadTiles &tiles, const V &view, Index number,
                    const std::optional<In<f32, 1>> &norm) const {
    if (!norm)
      return turned(tiles.load(view, number), angle);
    Halves gain = tiles.gains(*norm);
    return turned(normalised(tiles.load(view, number), gain, *eps), angle);
  }
};

/// A kernel of new heads: what it takes in front of `more`, and the caches that it gives before `results`.
inline std::string newHeadsSignature(const char *name, const Architecture &model, const char *more,
                                     const std::string &results) {
  return fmt::format("{0}(qkv[T,{1}], positions[T], sequences[T], pages[B,L], cosines[M,{2}], "
                     "sines[M,{2}], {3}{4}) "
                     "-> keys[P,{5},S,{6}], values[P,{5},S,{6}], {7}",
                     name, model.qkvRows(), model.headSize / 2,
                     model.hasHeadNorms
                         ? fmt::format("queryNorm[{0}], keyNorm[{0}], eps", model.headSize)
                         : "-, -, -",
                     more, model.keyHeads, model.headSize, results);
}

} // namespace generate
