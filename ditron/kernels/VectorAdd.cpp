// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// z = x + y.
#include "ditron/heuristics/RowTiles.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

template <class T> static Kernel vectorAddOf(VectorAddConfig cfg) {
  return {"vector-add(x[N], y[N]) -> z[N]", [=](In<T, 1> x, In<T, 1> y, Out<T, 1> z) {
            auto xs = x.tiled(cfg.tile), ys = y.tiled(cfg.tile);
            auto zs = z.tiled(cfg.tile);
            for (auto [i] : zs.tiles())
              zs(i) = xs(i) + ys(i);
          }};
}

Kernel vectorAdd(DType type, const VectorAddConfig &config) {
  return Numbers::dispatch(type, "vector-add", [&]<class T> { return vectorAddOf<T>(config); })
      .inPlace("z", "x")
      .inPlace("z", "y");
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    ReferenceSum sum;
    sum.add(run.inputs.at(row.rank, 0, column));
    sum.add(run.inputs.at(row.rank, 1, column));
    result.push_back(expectedSum(sum, run.problem.type));
  }
  return result;
}

static Config defaults(const Problem &problem) {
  return {{"tile", heuristics::vectorTile(problem["N"], problem.cores, problem.target)}};
}

KernelEntry vectorAddEntry() {
  return {
      .name = "vector-add",
      .summary = "z = x + y",
      .dtypes = Numbers::list(),
      .parameters = {{"tile", "elements of a tile", {256, 1024, 4096, 16384}}},
      .defaults = defaults,
      .make = [](DType type,
                 const Config &config) { return vectorAdd(type, {.tile = config.get("tile")}); },
      .shape = {{"N", 1 << 20}},
      .testShapes = {{{"N", 1}}, {{"N", 97}}, {{"N", 5000}}},
      .benchShapes = {{{"N", 1 << 24}}, {{"N", 1 << 26}}},
      .checkCases = {{{{"N", 37}}, "tile=4"}},
      .bytes =
          [](const Problem &problem) {
            return 3.0 * static_cast<double>(problem["N"] * byteSize(problem.type));
          },
      .baseline = Baseline::copy,
      .reference = reference,
  };
}

} // namespace ditron::kernels
