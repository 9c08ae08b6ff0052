// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = x / sqrt(mean(x * x) + eps) * w of each row. A row in one tile is read once, a longer one
// twice.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include <cmath>

namespace ditron::kernels {

template <class T> static Kernel rmsNormOf(RowConfig cfg) {
  return {"rms-norm(x[T,H], w[H], eps) -> y[T,H]",
          [=](In<T> x, In<T, 1> w, Scalar<f32> eps, Out<T> y) {
            auto xs = x.tiled(cfg.rows, cfg.width);
            auto ys = y.tiled(cfg.rows, cfg.width);
            auto ws = w.tiled(cfg.width);
            auto scaleOf = [&](const Tile &squares) {
              return rsqrt(squares / cast<f32>(toTile(x.cols())) + eps);
            };
            auto inOneTile = [&](Index i) {
              auto v = cast<f32>(xs(i, 0));
              auto scale = scaleOf(sum(v * v, 1));
              ys(i, 0) = cast<T>(v * scale * cast<f32>(ws(0)));
            };
            auto inTwoWalks = [&](Index i) {
              Var squares = zeros<f32>(cfg.rows, 1);
              for (auto h : range(xs.cols())) {
                auto v = cast<f32>(xs(i, h));
                squares += sum(v * v, 1);
              }
              auto scale = scaleOf(squares);
              for (auto h : range(xs.cols()))
                ys(i, h) = cast<T>(cast<f32>(xs(i, h)) * scale * cast<f32>(ws(h)));
            };
            for (auto [i] : ys.bands())
              when(xs.cols() == 1, [&] { inOneTile(i); }, [&] { inTwoWalks(i); });
          }};
}

Kernel rmsNorm(DType type, const RowConfig &config) {
  return Floats::dispatch(type, "rms-norm", [&]<class T> { return rmsNormOf<T>(config); })
      .inPlace("y", "x");
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  const Inputs &in = run.inputs;
  int64_t H = run.problem["H"];
  ReferenceSum squares;
  for (int64_t h = 0; h < H; ++h) {
    double x = in.at(row.rank, 0, row.row, h);
    squares.addProduct(x, x);
  }
  double scale = 1 / std::sqrt(squares.value / double(H) + in.scalar(2));
  float plainScale = 1 / std::sqrt(squares.plain / float(H) + static_cast<float>(in.scalar(2)));
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    double x = in.at(row.rank, 0, row.row, column), w = in.at(row.rank, 1, column);
    float plain = static_cast<float>(x) * plainScale * static_cast<float>(w);
    double value = x * scale * w;
    result.push_back({value, roundTo(run.problem.type, plain), 4 * std::abs(value), H + 2});
  }
  return result;
}

KernelEntry rmsNormEntry() {
  return {
      .name = "rms-norm",
      .summary = "x / sqrt(mean(x * x) + eps) * w of each row",
      .dtypes = Floats::list(),
      .parameters = rowParameters(),
      .defaults = rowDefaults,
      .make = [](DType type, const Config &config) { return rmsNorm(type, rowConfig(config)); },
      .shape = {{"T", 512}, {"H", 1024}},
      .testShapes = {{{"T", 1}, {"H", 1}}, {{"T", 5}, {"H", 37}}, {{"T", 13}, {"H", 128}}},
      .benchShapes = {{{"T", 16384}, {"H", 1024}}, {{"T", 4096}, {"H", 4096}}},
      .checkCases = {{{{"T", 5}, {"H", 7}}, "rows=2,width=4"},
                     {{{"T", 5}, {"H", 3}}, "rows=2,width=4"}},
      .scalars = {{"eps", 1e-6}},
      .variants = {"rows=2,width=16", "rows=3,width=10"},
      .bytes = [](const Problem &p) { return 2.0 * p["T"] * p["H"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .reference = reference,
  };
}

} // namespace ditron::kernels
