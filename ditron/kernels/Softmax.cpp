// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = exp(x - max) / sum(exp(x - max)) of each row. A row in one tile is read once; a longer one
// twice: the first walk keeps the maximum so far, and the sum relative to it.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include <cmath>
#include <limits>

namespace ditron::kernels {

template <class T> static Kernel softmaxOf(RowConfig cfg) {
  return {"softmax(x[T,H]) -> y[T,H]", [=](In<T> x, Out<T> y) {
            auto xs = x.tiled(cfg.rows, cfg.width);
            auto ys = y.tiled(cfg.rows, cfg.width);
            auto load = [&](Index i, Index h) { return cast<f32>(xs(i, h).padded(-INFINITY)); };

            auto inOneTile = [&](Index i) {
              auto v = load(i, 0);
              auto e = exp(v - max(v, 1));
              ys(i, 0) = cast<T>(e * (1 / sum(e, 1)));
            };
            auto inTwoWalks = [&](Index i) {
              // Finite, so that a tile of -infinity subtracts no infinities.
              Var top = full<f32>({cfg.rows, 1}, std::numeric_limits<f32>::lowest());
              Var total = zeros<f32>(cfg.rows, 1);
              for (auto h : range(xs.cols())) {
                auto v = load(i, h), next = maximum(top, max(v, 1));
                total = total * exp(top - next) + sum(exp(v - next), 1);
                top = next;
              }
              auto scale = 1 / total;
              for (auto h : range(xs.cols()))
                ys(i, h) = cast<T>(exp(load(i, h) - top) * scale);
            };
            for (auto [i] : ys.bands())
              when(xs.cols() == 1, [&] { inOneTile(i); }, [&] { inTwoWalks(i); });
          }};
}

Kernel softmax(DType type, const RowConfig &config) {
  return Floats::dispatch(type, "softmax", [&]<class T> { return softmaxOf<T>(config); })
      .inPlace("y", "x");
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  int64_t H = run.problem["H"];
  auto x = [&](int64_t h) { return run.inputs.at(row.rank, 0, row.row, h); };
  double top = -INFINITY, total = 0;
  float plainTotal = 0;
  for (int64_t h = 0; h < H; ++h)
    top = std::max(top, x(h));
  for (int64_t h = 0; h < H; ++h) {
    total += std::exp(x(h) - top);
    plainTotal += std::exp(static_cast<float>(x(h) - top));
  }
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    double distance = x(column) - top, value = std::exp(distance) / total;
    float plain = std::exp(static_cast<float>(distance)) / plainTotal;
    // An exponential has the relative error of the absolute one of its argument.
    double magnitude = value * (2 + std::abs(distance));
    result.push_back({value, roundTo(run.problem.type, plain), magnitude, H + 2});
  }
  return result;
}

KernelEntry softmaxEntry() {
  return {
      .name = "softmax",
      .summary = "softmax of each row",
      .dtypes = Floats::list(),
      .parameters = rowParameters(),
      .defaults = rowDefaults,
      .make = [](DType type, const Config &config) { return softmax(type, rowConfig(config)); },
      .shape = {{"T", 512}, {"H", 1024}},
      .testShapes = {{{"T", 1}, {"H", 1}}, {{"T", 5}, {"H", 37}}, {{"T", 13}, {"H", 128}}},
      .benchShapes = {{{"T", 16384}, {"H", 1024}}, {{"T", 4096}, {"H", 4096}}},
      .checkCases = {{{{"T", 5}, {"H", 7}}, "rows=2,width=4"},
                     {{{"T", 5}, {"H", 3}}, "rows=2,width=4"}},
      .variants = {"rows=2,width=16", "rows=3,width=10"},
      .bytes = [](const Problem &p) { return 2.0 * p["T"] * p["H"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .reference = reference,
  };
}

} // namespace ditron::kernels
