// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/StepKernels.h"
#include "ditron/kernels/PagedCache.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/kernels/functions/Attend.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <numbers>

using namespace ditron;

namespace generate {

namespace {

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

Halves turned(const Halves &heads, const Halves &angle) {
  auto [cosine, sine] = angle;
  return {heads.first * cosine - heads.second * sine, heads.second * cosine + heads.first * sine};
}

/// Each head divided by the root of the mean of its squares, times the norm's gains.
Halves normalised(const Halves &heads, const Halves &gain, const Tile &eps) {
  Tile squares = sum(heads.first * heads.first + heads.second * heads.second, 1);
  Tile scale = rsqrt(squares / (2.0 * double(heads.first.shape()[1])) + eps);
  return {heads.first * scale * gain.first, heads.second * scale * gain.second};
}

/// As T has them.
template <class T> Halves rounded(const Halves &heads) {
  return {cast<f32>(cast<T>(heads.first)), cast<f32>(cast<T>(heads.second))};
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
    Tile all = select(iota(place, areApart ? 1 : 2) == 0, reshape(halves.first, one),
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

} // namespace

/// A kernel of new heads: what it takes in front of `more`, and the caches that it gives before `results`.
static std::string newHeadsSignature(const char *name, const Architecture &model, const char *more,
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

template <class T> static Kernel turnAndAppendOf(const Architecture &model, int together) {
  HeadTiles tiles{together, int(model.headSize / 2), model.ropePairs};
  return {
      newHeadsSignature("turn-and-append", model, "",
                        fmt::format("q[T,{},{}]", model.heads, model.headSize)),
      [=](In<f32> qkv, In<i32, 1> positions, In<i32, 1> sequences, In<i32> pages, In<f32> cosines,
          In<f32> sines, std::optional<In<f32, 1>> queryNorm, std::optional<In<f32, 1>> keyNorm,
          std::optional<Scalar<f32>> eps, InOut<T, 4> keys, InOut<T, 4> values, Out<T, 3> q) {
        Index N = model.heads, G = model.keyHeads, S = keys.rows();
        Index ofQueries = tiles.count(N), ofKeys = tiles.count(G);
        auto all = qkv.split(1, N + 2 * G);
        for (auto [t, i] : grid({qkv.rows(), ofQueries + 2 * ofKeys})) {
          kernels::PagedRow row(positions, sequences, pages, t, S);
          when(row.position() >= 0, [&] {
            // What is there before the heads are comes first.
            Index page = row.page(row.position() / S);
            Tile cosine = tiles.row(cosines, row.position());
            HeadTurn turn{{cosine, tiles.row(sines, row.position())}, eps};
            auto heads = [&](Index first, Index count) { return all.at(t).slice(0, first, count); };
            auto place = [&](const InOut<T, 4> &cache) {
              return cache.at(page).at(1, row.position() % S);
            };
            Index key = i - ofQueries, value = key - ofKeys;
            when(key < 0,
                 [&] { tiles.store<T>(q.at(t), i, turn(tiles, heads(0, N), i, queryNorm)); });
            when(key >= 0 && value < 0,
                 [&] { tiles.store<T>(place(keys), key, turn(tiles, heads(N, G), key, keyNorm)); });
            when(value >= 0,
                 [&] { tiles.store<T>(place(values), value, tiles.load(heads(N + G, G), value)); });
          });
        }
      }};
}

Kernel turnAndAppend(const Architecture &model, DType type, int heads) {
  return kernels::Floats::dispatch(type, "turn-and-append",
                                   [&]<class T> { return turnAndAppendOf<T>(model, heads); });
}

template <class T>
static Kernel turnAndAttendOf(const Architecture &model,
                              const kernels::DecodeAttentionConfig &cfg) {
  HeadTiles queries{cfg.m, int(model.headSize / 2), model.ropePairs};
  HeadTiles one{1, queries.half, model.ropePairs};
  std::string parts =
      fmt::format("o[T,{0},L+1,{1}], sizes[T,{0},L+1]", model.heads, model.headSize);
  return {
      newHeadsSignature("turn-and-attend", model, ", scale", parts),
      [=](In<f32> qkv, In<i32, 1> positions, In<i32, 1> sequences, In<i32> pages, In<f32> cosines,
          In<f32> sines, std::optional<In<f32, 1>> queryNorm, std::optional<In<f32, 1>> keyNorm,
          std::optional<Scalar<f32>> eps, Scalar<f32> scale, InOut<T, 4> keys, InOut<T, 4> values,
          Out<f32, 4> o, Out<f32, 3> sizes) {
        Index N = model.heads, G = model.keyHeads, S = keys.rows();
        Index together = model.heads / model.keyHeads;
        require(S <= cfg.n, "a page has {} positions, this variant takes up to {}", {S, cfg.n});
        auto all = qkv.split(1, N + 2 * G);
        for (auto [t, g, part] : grid({qkv.rows(), G, sizes.dim(2)})) {
          kernels::PagedRow row(positions, sequences, pages, t, S);
          Index position = max(row.position(), 0);
          Index count = min(row.numKeys(), 1) + ceilDiv(position, S); // of parts that have keys
          Tile cosine = one.row(cosines, position);
          HeadTurn turn{{cosine, one.row(sines, position)}, eps};
          auto heads = [&](Index first, Index many) { return all.at(t).slice(0, first, many); };
          auto shared = [&](const auto &x) { return x.at(t).slice(0, g * together, together); };
          auto result = shared(o).at(1, part);
          auto size = shared(sizes).slice(1, part, 1);
          // Of parts without keys these are left. All are stored under no condition, so that who joins them may look
          // for them.
          Var joined = zeros<f32>(cfg.m, cfg.d), weight = full<f32>({cfg.m, 1}, kernels::kNoSize);
          auto put = [&](const kernels::Attended &attended) {
            joined = attended.o;
            weight = attended.size;
          };
          auto mine = [&] { return turn(queries, heads(g * together, together), 0, queryNorm); };
          auto newKey = [&] {
            Index page = row.page(position / S);
            auto place = [&](const InOut<T, 4> &cache) {
              return cache.at(page).at(g).slice(0, position % S, 1);
            };
            Halves query = rounded<T>(mine()), key = turn(one, heads(N + g, 1), 0, keyNorm);
            Halves kept = rounded<T>(key);
            Tile value = cast<T>(Tile(heads(N + G + g, 1).tiled(1, cfg.d)(0, 0)));
            Tile product = sum(query.first * kept.first + query.second * kept.second, 1);
            one.store<T>(place(keys), 0, key);
            place(values).tiled(1, cfg.d)(0, 0) = value;
            put({zeros<f32>(cfg.m, cfg.d) + cast<f32>(value),
                 product * (scale * std::numbers::log2e)});
          };
          auto oldKeys = [&] {
            Index number = part - 1, page = row.page(number), seen = min(position - number * S, S);
            auto view = [&](const InOut<T, 4> &cache) {
              return View<T, 2, Access::read>(cache.at(page).at(g).slice(0, 0, seen).data());
            };
            std::vector<kernels::KeyTile<T>> tiles = {{view(keys), view(values), 0, seen}};
            auto turnedHeads = [&] { return cast<T>(queries.joined(mine())); };
            put(kernels::attendAtOnce<T>(cfg, turnedHeads, tiles, scale));
          };
          when(part < count, [&] { when(part == 0, newKey, oldKeys); });
          result.tiled(cfg.m, cfg.d)(0, 0) = joined;
          size.tiled(cfg.m, 1)(0, 0) = weight;
        }
      }};
}

Kernel turnAndAttend(const Architecture &model, DType type,
                     const kernels::DecodeAttentionConfig &config) {
  if (config.d != model.headSize || config.m * model.keyHeads < model.heads)
    throw CompileError(fmt::format(
        "turn-and-attend: the variant is of {} heads of {} elements, expected {} or more of {}",
        config.m, config.d, model.heads / model.keyHeads, model.headSize));
  return kernels::Floats::dispatch(type, "turn-and-attend",
                                   [&]<class T> { return turnAndAttendOf<T>(model, config); });
}

Kernel roundNormed(const Architecture &model) {
  constexpr int64_t kWidest = 4096;
  int width = int(std::min(kWidest, int64_t(std::bit_ceil(uint64_t(model.width)))));
  return {"round-normed(x[B,K], gain[K], eps) -> y[B,K]",
          [=](In<f32> x, In<f32, 1> gain, Scalar<f32> eps, Out<bf16> y) {
            auto xs = x.tiled(1, width);
            auto ys = y.tiled(1, width);
            auto gains = gain.tiled(width);
            for (auto [b] : grid({x.rows()})) {
              Var squares = zeros<f32>(1, width);
              for (auto k : range(ceilDiv(x.cols(), width))) {
                Tile read = xs(b, k);
                squares += read * read;
              }
              auto scale = rsqrt(sum(squares, 1) / cast<f32>(toTile(x.cols())) + eps);
              for (auto k : range(ceilDiv(x.cols(), width)))
                ys(b, k) = cast<bf16>(xs(b, k) * gains(k) * scale);
            }
          }};
}

/// Starts the norm of a tile: of part j of row i.
static void startNormOf(const Tile &tile, const In<f32, 1> &gain, const Out<bf16> &scaled,
                        const Out<f32> &squares, int part, Index i, Index j) {
  scaled.tiled(1, part)(i, j) = cast<bf16>(tile * gain.tiled(part)(j));
  squares.tiled(1, 1)(i, j) = sum(tile * tile, 1);
}

Kernel startNorm(int part) {
  return {fmt::format("start-norm(x[B,K], gain[K]) -> scaled[B,K], squares[B,ceil(K/{})]", part),
          [=](In<f32> x, In<f32, 1> gain, Out<bf16> scaled, Out<f32> squares) {
            auto xs = x.tiled(1, part);
            for (auto [i, j] : xs.tiles())
              startNormOf(xs(i, j), gain, scaled, squares, part, i, j);
          }};
}

/// Every tile of y[B,N], the sum of every rank's x and the residual: take(tile, i, j).
static void sumOverRanks(const In<f32> &x, const In<f32> &residual, int width, const auto &take) {
  auto xs = x.tiled(1, width), residuals = residual.tiled(1, width);
  auto box = inbox<f32>({numRanks(), xs.rows(), xs.cols()}, {1, width}, "parts");
  for (auto [i, j] : xs.tiles())
    kernels::sendToPeers(xs(i, j), box, i, j);
  for (auto [i, j] : xs.tiles())
    take(residuals(i, j) + kernels::sumOfReceived<f32>(xs(i, j), box, i, j), i, j);
}

Kernel addOverRanks(int width) {
  return {"add-over-ranks(x[B,N], residual[B,N]) -> y[B,N]",
          [=](In<f32> x, In<f32> residual, Out<f32> y) {
            sumOverRanks(x, residual, width,
                         [&](const Tile &sum, Index i, Index j) { y.tiled(1, width)(i, j) = sum; });
          }};
}

Kernel addOverRanksAndStartNorm(int width) {
  return {fmt::format("add-over-ranks(x[B,N], residual[B,N], gain[N]) -> y[B,N], scaled[B,N], "
                      "squares[B,ceil(N/{})]",
                      width),
          [=](In<f32> x, In<f32> residual, In<f32, 1> gain, Out<f32> y, Out<bf16> scaled,
              Out<f32> squares) {
            sumOverRanks(x, residual, width, [&](const Tile &sum, Index i, Index j) {
              y.tiled(1, width)(i, j) = sum;
              startNormOf(sum, gain, scaled, squares, width, i, j);
            });
          }};
}

Kernel joinLogits(int64_t vocabulary, int width) {
  return {fmt::format("join-logits(x[W,P]) -> y[W,{}]", vocabulary), [=](In<f32> x, Out<f32> y) {
            auto xs = x.tiled(1, width);
            auto box = inbox<f32>({numRanks(), xs.rows(), xs.cols()}, {1, width}, "logits");
            auto all = y.split(1, numRanks());
            auto place = [&](Index r, Index i, Index j) {
              return all.at(1, r).tiled(1, width)(i, j);
            };
            for (auto [i, j] : xs.tiles()) {
              Tile own = xs(i, j);
              kernels::sendToPeers(own, box, i, j);
              place(rank(), i, j) = own;
            }
            for (auto [i, j] : xs.tiles())
              for (auto peer : peers())
                place(peer, i, j) = receive(box(peer, i, j));
          }};
}

} // namespace generate
