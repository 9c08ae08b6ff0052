// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/StepKernels.h"
#include "ditron/kernels/PagedCache.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "model/Heads.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>

using namespace ditron;

namespace generate {

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

/// What a row is scaled by.
static Tile scaleOf(const Tile &squares, Index columns, const Scalar<f32> &eps) {
  return rsqrt(sum(squares, 1) / cast<f32>(toTile(columns)) + eps);
}

/// Rows that are a tile, which is loaded once.
static Kernel roundNormedTiles(int width) {
  return {"round-normed(x[B,K], gain[K], eps) -> y[B,K]",
          [=](In<f32> x, In<f32, 1> gain, Scalar<f32> eps, Out<bf16> y) {
            require(x.cols() <= width, "a row has {} elements, this variant takes up to {}",
                    {x.cols(), width});
            for (auto [b] : grid({x.rows()})) {
              Tile row = x.tiled(1, width)(b, 0), gains = gain.tiled(width)(0);
              Tile scale = scaleOf(row * row, x.cols(), eps);
              y.tiled(1, width)(b, 0) = cast<bf16>(row * gains * scale);
            }
          }};
}

Kernel roundNormed(const Architecture &model) {
  constexpr int64_t kWidest = 4096;
  int width = int(std::min(kWidest, int64_t(std::bit_ceil(uint64_t(model.width)))));
  if (width >= model.width)
    return roundNormedTiles(width);
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
              Tile scale = scaleOf(squares, x.cols(), eps);
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
