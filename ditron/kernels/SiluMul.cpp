// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = silu(gate) * up, where x = [gate up] of each row: the middle of a gated feed-forward layer.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include <cmath>

namespace ditron::kernels {

template <class T> static Kernel siluMulOf(RowConfig cfg) {
  return {"silu-mul(x[T,2*H]) -> y[T,H]", [=](In<T> x, Out<T> y) {
            auto half = y.cols();
            auto gate = x.slice(1, 0, half).tiled(cfg.rows, cfg.width);
            auto up = x.slice(1, half, half).tiled(cfg.rows, cfg.width);
            auto ys = y.tiled(cfg.rows, cfg.width);
            for (auto [t, h] : ys.tiles()) {
              auto g = cast<f32>(gate(t, h)), u = cast<f32>(up(t, h));
              ys(t, h) = cast<T>(g * sigmoid(g) * u);
            }
          }};
}

Kernel siluMul(DType type, const RowConfig &config) {
  return Floats::dispatch(type, "silu-mul", [&]<class T> { return siluMulOf<T>(config); });
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  int64_t H = run.problem["H"];
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    double g = run.inputs.at(row.rank, 0, row.row, column);
    double u = run.inputs.at(row.rank, 0, row.row, H + column);
    double value = g / (1 + std::exp(-g)) * u;
    auto gate = static_cast<float>(g);
    float plain = gate / (1 + std::exp(-gate)) * static_cast<float>(u);
    result.push_back(
        {value, roundTo(run.problem.type, plain), (2 + std::abs(g)) * std::abs(value), 4});
  }
  return result;
}

KernelEntry siluMulEntry() {
  return {
      .name = "silu-mul",
      .summary = "silu(left half) * right half of each row",
      .dtypes = Floats::list(),
      .parameters = rowParameters(),
      .defaults = elementDefaults,
      .make = [](DType type, const Config &config) { return siluMul(type, rowConfig(config)); },
      .shape = {{"T", 512}, {"H", 1024}},
      .testShapes = {{{"T", 1}, {"H", 1}}, {{"T", 5}, {"H", 37}}, {{"T", 13}, {"H", 128}}},
      .benchShapes = {{{"T", 8192}, {"H", 1376}}, {{"T", 2048}, {"H", 11008}}},
      .checkCases = {{{{"T", 5}, {"H", 7}}, "rows=2,width=4"},
                     {{{"T", 5}, {"H", 3}}, "rows=2,width=4"}},
      .variants = {"rows=2,width=16", "rows=3,width=10"},
      .bytes = [](const Problem &p) { return 3.0 * p["T"] * p["H"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .reference = reference,
  };
}

} // namespace ditron::kernels
