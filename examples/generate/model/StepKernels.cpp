// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/StepKernels.h"
#include "ditron/kernels/PagedCache.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>

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

/// A head in two tiles: the first elements of its pairs, and the second ones.
struct Halves {
  Tile first, second;
};

Halves turned(const Halves &head, const Tile &cosine, const Tile &sine) {
  return {head.first * cosine - head.second * sine, head.second * cosine + head.first * sine};
}

/// The head divided by the root of the mean of its squares, times the norm's gains.
Halves normalised(const Halves &head, const Halves &gain, const Tile &eps) {
  Tile squares = sum(head.first * head.first, 0) + sum(head.second * head.second, 0);
  Tile scale = rsqrt(squares / (2.0 * double(head.first.shape()[0])) + eps);
  return {head.first * scale * gain.first, head.second * scale * gain.second};
}

/// The halves of head h of a view [B,H,D], or of one place of a cache.
template <class V> Halves load(const V &view, const Architecture &model) {
  int half = int(model.headSize / 2);
  Tile first = elementsOf(view, model.ropePairs, 0).tiled(half)(0);
  return {first, elementsOf(view, model.ropePairs, 1).tiled(half)(0)};
}
template <class T, class V>
void store(const V &view, const Architecture &model, const Halves &head) {
  int half = int(model.headSize / 2);
  elementsOf(view, model.ropePairs, 0).tiled(half)(0) = cast<T>(head.first);
  elementsOf(view, model.ropePairs, 1).tiled(half)(0) = cast<T>(head.second);
}

} // namespace

template <class T> static Kernel turnAndAppendOf(const Architecture &model) {
  bool hasNorms = model.hasHeadNorms;
  std::string signature = fmt::format(
      "turn-and-append(qkv[T,{}], positions[T], sequences[T], pages[B,L], cosines[M,{}], "
      "sines[M,{}], {}) -> keys[P,{},S,{}], values[P,{},S,{}], q[T,{},{}]",
      model.qkvRows(), model.headSize / 2, model.headSize / 2,
      hasNorms ? fmt::format("queryNorm[{0}], keyNorm[{0}], eps", model.headSize) : "-, -, -",
      model.keyHeads, model.headSize, model.keyHeads, model.headSize, model.heads, model.headSize);
  return {signature, [=](In<f32> qkv, In<i32, 1> positions, In<i32, 1> sequences, In<i32> pages,
                         In<f32> cosines, In<f32> sines, std::optional<In<f32, 1>> queryNorm,
                         std::optional<In<f32, 1>> keyNorm, std::optional<Scalar<f32>> eps,
                         InOut<T, 4> keys, InOut<T, 4> values, Out<T, 3> q) {
            int half = int(model.headSize / 2);
            Index N = model.heads, G = model.keyHeads, heads = N + 2 * G, S = keys.rows();
            auto all = qkv.split(1, heads);
            for (auto [t, h] : grid({qkv.rows(), heads})) {
              kernels::PagedRow row(positions, sequences, pages, t, S);
              auto place = [&](const InOut<T, 4> &cache, Index head) {
                return cache.at(row.page(row.position() / S)).at(head).at(row.position() % S);
              };
              auto turn = [&](const Halves &head, const std::optional<In<f32, 1>> &gain) {
                Tile cosine = cosines.at(row.position()).tiled(half)(0);
                Tile sine = sines.at(row.position()).tiled(half)(0);
                if (!gain)
                  return turned(head, cosine, sine);
                return turned(normalised(head, load(*gain, model), *eps), cosine, sine);
              };
              when(row.position() >= 0, [&] {
                Halves head = load(all.at(t).at(h), model);
                when(h < N, [&] { store<T>(q.at(t).at(h), model, turn(head, queryNorm)); });
                when(h >= N && h < N + G,
                     [&] { store<T>(place(keys, h - N), model, turn(head, keyNorm)); });
                when(h >= N + G, [&] { store<T>(place(values, h - N - G), model, head); });
              });
            }
          }};
}

Kernel turnAndAppend(const Architecture &model, DType type) {
  return kernels::Floats::dispatch(type, "turn-and-append",
                                   [&]<class T> { return turnAndAppendOf<T>(model); });
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
static void sumOverRanks(const In<f32> &x, const In<f32> &residual, const auto &take) {
  constexpr int kWidth = kPartOverRanks;
  auto xs = x.tiled(1, kWidth), residuals = residual.tiled(1, kWidth);
  auto box = inbox<f32>({numRanks(), xs.rows(), xs.cols()}, {1, kWidth}, "parts");
  for (auto [i, j] : xs.tiles())
    kernels::sendToPeers(xs(i, j), box, i, j);
  for (auto [i, j] : xs.tiles())
    take(residuals(i, j) + kernels::sumOfReceived<f32>(xs(i, j), box, i, j), i, j);
}

Kernel addOverRanks(bool startsNorm) {
  if (!startsNorm)
    return {"add-over-ranks(x[B,N], residual[B,N]) -> y[B,N]",
            [](In<f32> x, In<f32> residual, Out<f32> y) {
              sumOverRanks(x, residual, [&](const Tile &sum, Index i, Index j) {
                y.tiled(1, kPartOverRanks)(i, j) = sum;
              });
            }};
  return {fmt::format("add-over-ranks(x[B,N], residual[B,N], gain[N]) -> y[B,N], scaled[B,N], "
                      "squares[B,ceil(N/{})]",
                      kPartOverRanks),
          [](In<f32> x, In<f32> residual, In<f32, 1> gain, Out<f32> y, Out<bf16> scaled,
             Out<f32> squares) {
            sumOverRanks(x, residual, [&](const Tile &sum, Index i, Index j) {
              y.tiled(1, kPartOverRanks)(i, j) = sum;
              startNormOf(sum, gain, scaled, squares, kPartOverRanks, i, j);
            });
          }};
}

} // namespace generate
