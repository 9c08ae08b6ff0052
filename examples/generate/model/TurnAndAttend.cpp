// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// turn-and-attend: the heads of a few rows are turned where they are attended to, so that no task stands between the
// product that gives them and attention. New keys are a part of their own, which computes them of what the product
// gave; the other parts read keys of earlier steps, which are there before a step begins.
#include "ditron/kernels/PagedCache.h"
#include "ditron/kernels/functions/Attend.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/support/Error.h"
#include "model/Heads.h"
#include "model/StepKernels.h"
#include <numbers>

using namespace ditron;

namespace generate {

namespace {

/// As T has them.
template <class T> Halves rounded(const Halves &heads) {
  return {cast<f32>(cast<T>(heads.first)), cast<f32>(cast<T>(heads.second))};
}

/// The arguments, but the results.
template <class T> struct NewHeads {
  View<f32, 3, Access::read> heads; ///< of all rows: of queries, of keys, of values
  In<i32, 1> positions, sequences;
  In<i32> pages;
  In<f32> cosines, sines;
  std::optional<In<f32, 1>> queryNorm, keyNorm;
  std::optional<Scalar<f32>> eps;
  Tile scale;
  InOut<T, 4> keys, values;
};

/// What one row's queries that share head g of keys attend to.
template <class T> class RowOfHead {
public:
  /// Of a program for up to `rows` rows.
  RowOfHead(const Architecture &model, const kernels::DecodeAttentionConfig &cfg, int rows,
            const NewHeads<T> &given, Index t, Index g)
      : cfg_(cfg), rows_(rows), half_(int(model.headSize / 2)), pairs_(model.ropePairs),
        N_(model.heads), G_(model.keyHeads), S_(given.keys.rows()), g_(g),
        together_(model.heads / model.keyHeads), given_(given), places_(places()),
        row_(given.positions, given.sequences, given.pages, t, S_),
        position_(max(row_.position(), 0)), earlier_(earlierKeys()), mine_(given.heads.at(t)),
        turn_{{one().row(given.cosines, position_), one().row(given.sines, position_)}, given.eps} {
  }

  /// Of parts, the new keys' one included, that have keys.
  Index parts() const {
    return min(row_.numKeys(), 1) + ceilDiv(ceilDiv(earlier_, S_), cfg_.block);
  }

  /// The new keys that the row sees. Its own goes to the cache, with its value.
  kernels::Attended newKeys() const {
    Index page = row_.page(position_ / S_);
    auto place = [&](const InOut<T, 4> &cache) {
      return cache.at(page).at(g_).slice(0, position_ % S_, 1);
    };
    Halves query = rounded<T>(queries()), key = turn_(one(), heads(N_ + g_, 1), 0, given_.keyNorm);
    Tile value = cast<T>(Tile(heads(N_ + G_ + g_, 1).tiled(1, cfg_.d)(0, 0)));
    one().template store<T>(place(given_.keys), 0, key);
    place(given_.values).tiled(1, cfg_.d)(0, 0) = value;
    auto own = [&] { return ofOwn(query, rounded<T>(key), value); };
    auto all = [&] { return ofAll(query); };
    return rows_ == 1 ? own() : either(earlier_ == position_, own, all);
  }

  /// Part n of the keys of earlier steps, some of which are there.
  kernels::Attended earlierPart(Index n) const {
    // Each page's place is looked at once it is read: all of them are read before.
    std::vector<Index> pages;
    for (int j = 0; j < cfg_.block; ++j) {
      Index number = n * cfg_.block + j;
      pages.push_back(row_.page(j == 0 ? number : min(number, (max(earlier_, 1) - 1) / S_)));
    }
    std::vector<kernels::KeyTile<T>> tiles;
    for (int j = 0; j < cfg_.block; ++j) {
      Index seen = min(earlier_ - (n * cfg_.block + j) * S_, S_), page = pages[size_t(j)];
      bool isKnown = j == 0;
      auto view = [&](const InOut<T, 4> &cache) {
        Index count = isKnown ? seen : max(seen, 0);
        return View<T, 2, Access::read>(cache.at(page).at(g_).slice(0, 0, count).data());
      };
      tiles.push_back({view(given_.keys), view(given_.values), 0, seen});
    }
    auto turnedHeads = [&] { return cast<T>(ofQueries().joined(queries())); };
    return kernels::attendAtOnce<T>(cfg_, turnedHeads, tiles, given_.scale);
  }

private:
  HeadTiles one() const { return {1, half_, pairs_}; }
  HeadTiles ofQueries() const { return {cfg_.m, half_, pairs_}; }
  auto heads(Index first, Index count) const { return mine_.slice(0, first, count); }
  Halves queries() const {
    return turn_(ofQueries(), heads(g_ * together_, together_), 0, given_.queryNorm);
  }
  Tile steepness() const { return given_.scale * std::numbers::log2e; }

  /// Where a row of the step is.
  struct Place {
    Index position, sequence;
  };
  /// Of all rows, where there are several; read before anything is made of one.
  std::vector<Place> places() const {
    std::vector<Place> places;
    for (int n = 0; rows_ > 1 && n < rows_; ++n) {
      Index row = min(n, given_.positions.size() - 1);
      places.push_back(
          {toIndex(given_.positions.read({row})), toIndex(given_.sequences.read({row}))});
    }
    return places;
  }
  /// Keys that earlier steps gave the row's sequence: those before the first row of it.
  Index earlierKeys() const {
    Index first = position_;
    for (const Place &other : places_)
      first = select(other.sequence == row_.sequence() && other.position >= 0,
                     min(first, other.position), first);
    return first;
  }

  /// Of a row in front of which its sequence has none in this step: its own key is the only new one that it sees.
  kernels::Attended ofOwn(const Halves &query, const Halves &key, const Tile &value) const {
    Tile product = sum(query.first * key.first + query.second * key.second, 1);
    return {zeros<f32>(cfg_.m, cfg_.d) + cast<f32>(value), product * steepness()};
  }

  /// New keys of all rows, of which the row sees those of its sequence up to its own.
  kernels::Attended ofAll(const Halves &query) const {
    Tile at = given_.positions.tiled(rows_)(0).padded(-1), of = given_.sequences.tiled(rows_)(0);
    HeadTiles ofRows{rows_, half_, pairs_};
    HeadTurn turn{{given_.cosines.gather(at, 0, half_), given_.sines.gather(at, 0, half_)},
                  given_.eps};
    Halves keys = rounded<T>(turn(ofRows, given_.heads.at(1, N_ + g_), 0, given_.keyNorm));
    Tile values =
        cast<f32>(cast<T>(Tile(given_.heads.at(1, N_ + G_ + g_).tiled(rows_, cfg_.d)(0, 0))));
    auto isSeen = (of == toTile(row_.sequence())) & (at >= 0) & (at <= toTile(position_));
    auto ofQuery = [&](const Tile &x) { return reshape(x, {cfg_.m, 1, half_}); };
    auto ofKey = [&](const Tile &x) { return reshape(x, {1, rows_, half_}); };
    Tile product = sum(
        ofQuery(query.first) * ofKey(keys.first) + ofQuery(query.second) * ofKey(keys.second), 2);
    Tile scores = select(reshape(isSeen, {1, rows_}),
                         reshape(product, {cfg_.m, rows_}) * steepness(), kernels::kNoSize);
    Tile top = max(scores, 1), weights = exp2Flushed(scores - top), total = sum(weights, 1);
    Tile sums = sum(reshape(weights, {cfg_.m, rows_, 1}) * reshape(values, {1, rows_, cfg_.d}), 1);
    return {reshape(sums, {cfg_.m, cfg_.d}) / total, top + log2Approximate(total)};
  }

  /// What one of two gives, by a condition.
  kernels::Attended either(const auto &condition, const auto &one, const auto &other) const {
    Var o = zeros<f32>(cfg_.m, cfg_.d), size = zeros<f32>(cfg_.m, 1);
    auto put = [&](const kernels::Attended &attended) {
      o = attended.o;
      size = attended.size;
    };
    when(condition, [&] { put(one()); }, [&] { put(other()); });
    return {o, size};
  }

  const kernels::DecodeAttentionConfig &cfg_;
  int rows_, half_;
  RopePairs pairs_;
  Index N_, G_, S_, g_, together_;
  const NewHeads<T> &given_;
  std::vector<Place> places_;
  kernels::PagedRow row_;
  Index position_, earlier_;
  View<f32, 2, Access::read> mine_;
  HeadTurn turn_;
};

} // namespace

template <class T>
static Kernel turnAndAttendOf(const Architecture &model, const kernels::DecodeAttentionConfig &cfg,
                              int rows) {
  std::string number = fmt::format("ceil(L/{})+1", cfg.block);
  std::string parts =
      fmt::format("o[T,{0},{2},{1}], sizes[T,{0},{2}]", model.heads, model.headSize, number);
  return {
      newHeadsSignature("turn-and-attend", model, ", scale", parts),
      [=](In<f32> qkv, In<i32, 1> positions, In<i32, 1> sequences, In<i32> pages, In<f32> cosines,
          In<f32> sines, std::optional<In<f32, 1>> queryNorm, std::optional<In<f32, 1>> keyNorm,
          std::optional<Scalar<f32>> eps, Scalar<f32> scale, InOut<T, 4> keys, InOut<T, 4> values,
          Out<f32, 4> o, Out<f32, 3> sizes) {
        require(keys.rows() <= cfg.n, "a page has {} positions, this variant takes up to {}",
                {keys.rows(), cfg.n});
        require(qkv.rows() <= rows, "there are {} rows, this variant takes up to {}",
                {qkv.rows(), rows});
        NewHeads<T> given{qkv.split(1, model.heads + 2 * model.keyHeads),
                          positions,
                          sequences,
                          pages,
                          cosines,
                          sines,
                          queryNorm,
                          keyNorm,
                          eps,
                          scale,
                          keys,
                          values};
        Index together = model.heads / model.keyHeads;
        for (auto [t, g, part] : grid({qkv.rows(), Index(model.keyHeads), sizes.dim(2)})) {
          RowOfHead<T> row(model, cfg, rows, given, t, g);
          auto shared = [&](const auto &x) { return x.at(t).slice(0, g * together, together); };
          // Of parts without keys these are left. All are stored under no condition, so that who joins them may look
          // for them.
          Var joined = zeros<f32>(cfg.m, cfg.d), weight = full<f32>({cfg.m, 1}, kernels::kNoSize);
          auto put = [&](const kernels::Attended &attended) {
            joined = attended.o;
            weight = attended.size;
          };
          when(part < row.parts(), [&] {
            when(part == 0, [&] { put(row.newKeys()); }, [&] { put(row.earlierPart(part - 1)); });
          });
          shared(o).at(1, part).tiled(cfg.m, cfg.d)(0, 0) = joined;
          shared(sizes).slice(1, part, 1).tiled(cfg.m, 1)(0, 0) = weight;
        }
      }};
}

Kernel turnAndAttend(const Architecture &model, DType type,
                     const kernels::DecodeAttentionConfig &config, int rows) {
  if (config.d != model.headSize || config.m * model.keyHeads < model.heads)
    throw CompileError(fmt::format(
        "turn-and-attend: the variant is of {} heads of {} elements, expected {} or more of {}",
        config.m, config.d, model.heads / model.keyHeads, model.headSize));
  if (rows < 1 || config.block < 1)
    throw CompileError(
        fmt::format("turn-and-attend: rows is {} and block {}, expected 1 or more of both", rows,
                    config.block));
  return kernels::Floats::dispatch(
      type, "turn-and-attend", [&]<class T> { return turnAndAttendOf<T>(model, config, rows); });
}

} // namespace generate
