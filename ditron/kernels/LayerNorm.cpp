// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = (x - mean(x)) / sqrt(variance(x) + eps) * w + b of each row. A row in one tile is read once.
// A longer one is read twice: the first walk joins the mean and the squared distances from it of
// one tile after another (Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for
// computing sample variances", 1979), which loses no digits to a large mean.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include <cmath>

namespace ditron::kernels {

template <class T> static Kernel layerNormOf(RowConfig cfg) {
  return {"layer-norm(x[T,H], w[H], b[H], eps) -> y[T,H]",
          [=](In<T> x, In<T, 1> w, In<T, 1> b, Scalar<f32> eps, Out<T> y) {
            auto xs = x.tiled(cfg.rows, cfg.width);
            auto ys = y.tiled(cfg.rows, cfg.width);
            auto ws = w.tiled(cfg.width), bs = b.tiled(cfg.width);
            auto asFloat = [](Index count) { return cast<f32>(toTile(count)); };
            auto scaleOf = [&](const Tile &squares) {
              return rsqrt(squares / asFloat(x.cols()) + eps);
            };
            // The sum of the squared distances from the mean; beyond the row there are none.
            auto squaresOf = [&](const Tile &v, const Tile &mean, Index h) {
              auto column = iota({cfg.rows, cfg.width}, 1) + h * cfg.width;
              auto distance = select(column < x.cols(), v - mean, 0);
              return sum(distance * distance, 1);
            };
            auto finish = [&](const Tile &v, const Tile &mean, const Tile &scale, const Tile &w,
                              const Tile &b) { return cast<T>((v - mean) * scale * w + b); };

            auto inOneTile = [&](Index i) {
              auto v = cast<f32>(xs(i, 0));
              auto mean = sum(v, 1) / asFloat(x.cols());
              auto scale = scaleOf(squaresOf(v, mean, 0));
              ys(i, 0) = finish(v, mean, scale, cast<f32>(ws(0)), cast<f32>(bs(0)));
            };
            auto inTwoWalks = [&](Index i) {
              Var mean = zeros<f32>(cfg.rows, 1), squares = zeros<f32>(cfg.rows, 1);
              for (auto h : range(xs.cols())) {
                auto v = cast<f32>(xs(i, h));
                Index before = h * cfg.width, here = min(x.cols() - before, cfg.width);
                auto share = asFloat(here) / asFloat(before + here);
                auto local = sum(v, 1) / asFloat(here), shift = local - mean;
                squares += squaresOf(v, local, h) + shift * shift * (asFloat(before) * share);
                mean += shift * share;
              }
              auto scale = scaleOf(squares);
              for (auto h : range(xs.cols()))
                ys(i, h) =
                    finish(cast<f32>(xs(i, h)), mean, scale, cast<f32>(ws(h)), cast<f32>(bs(h)));
            };
            for (auto [i] : ys.bands())
              when(xs.cols() == 1, [&] { inOneTile(i); }, [&] { inTwoWalks(i); });
          }};
}

Kernel layerNorm(DType type, const RowConfig &config) {
  return Floats::dispatch(type, "layer-norm", [&]<class T> { return layerNormOf<T>(config); })
      .inPlace("y", "x");
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  const Inputs &in = run.inputs;
  int64_t H = run.problem["H"];
  auto x = [&](int64_t h) { return in.at(row.rank, 0, row.row, h); };
  ReferenceSum sum, squares;
  for (int64_t h = 0; h < H; ++h)
    sum.add(x(h));
  double mean = sum.value / double(H), eps = in.scalar(3);
  float plainMean = sum.plain / float(H);
  for (int64_t h = 0; h < H; ++h) {
    squares.value += (x(h) - mean) * (x(h) - mean);
    float distance = static_cast<float>(x(h)) - plainMean;
    squares.plain += distance * distance;
  }
  double scale = 1 / std::sqrt(squares.value / double(H) + eps);
  float plainScale = 1 / std::sqrt(squares.plain / float(H) + static_cast<float>(eps));
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    double w = in.at(row.rank, 1, column), b = in.at(row.rank, 2, column);
    double value = (x(column) - mean) * scale * w + b;
    float plain = (static_cast<float>(x(column)) - plainMean) * plainScale * static_cast<float>(w) +
                  static_cast<float>(b);
    // The mean is wrong by a rounding of the terms that it is made of.
    double terms = std::abs(x(column)) + sum.magnitude / double(H);
    double magnitude = 4 * terms * scale * std::abs(w) + std::abs(b);
    result.push_back({value, roundTo(run.problem.type, plain), magnitude, H + 2});
  }
  return result;
}

KernelEntry layerNormEntry() {
  return {
      .name = "layer-norm",
      .summary = "(x - mean) / sqrt(variance + eps) * w + b of each row",
      .dtypes = Floats::list(),
      .parameters = rowParameters(),
      .defaults = rowDefaults,
      .make = [](DType type, const Config &config) { return layerNorm(type, rowConfig(config)); },
      .shape = {{"T", 512}, {"H", 1024}},
      .testShapes = {{{"T", 1}, {"H", 1}},
                     {{"T", 5}, {"H", 37}},
                     {{"T", 3}, {"H", 8209}},
                     {{"T", 13}, {"H", 128}}},
      .benchShapes = {{{"T", 16384}, {"H", 1024}}, {{"T", 4096}, {"H", 4096}}},
      .checkCases = {{{{"T", 5}, {"H", 7}}, "rows=2,width=4"},
                     {{{"T", 5}, {"H", 3}}, "rows=2,width=4"}},
      .scalars = {{"eps", 1e-5}},
      .variants = {"rows=2,width=16", "rows=3,width=10"},
      .bytes = [](const Problem &p) { return 2.0 * p["T"] * p["H"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .reference = reference,
  };
}

} // namespace ditron::kernels
