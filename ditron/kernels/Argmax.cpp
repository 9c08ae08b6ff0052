// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ids[b] = where the largest element of row b is: the token that a greedy decoder takes. Each
// column of a row's tiles finds its own, then the first of the largest is taken.
#include "ditron/heuristics/RowTiles.h"
#include "ditron/kernels/Reference.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace ditron::kernels {

template <class T> static Kernel argmaxOf(ArgmaxConfig cfg) {
  return {"argmax(x[B,V]) -> ids[B]", [=](In<T> x, Out<i32, 1> ids) {
            auto result = ids.tiled(1);
            auto column = iota(cfg.width);
            for (auto [b] : result.tiles()) {
              auto xs = x.at(b).tiled(cfg.width);
              auto tile = [&](Index v) { return cast<f32>(xs(v).padded(-INFINITY)); };
              // Of each column of the tiles.
              Var best = tile(0), where = column;
              for (auto v : range(1, xs.cols())) {
                auto here = tile(v);
                auto isMore = here > best;
                where = select(isMore, column + v * cfg.width, where);
                best = select(isMore, here, best);
              }
              auto isBest = best == max(best, 0);
              result(b) = min(select(isBest, where, std::numeric_limits<i32>::max()), 0);
            }
          }};
}

Kernel argmax(DType type, const ArgmaxConfig &config) {
  return Floats::dispatch(type, "argmax", [&]<class T> { return argmaxOf<T>(config); });
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  std::vector<Expected> result;
  for (int64_t b : row.columns) {
    int64_t best = 0;
    for (int64_t v = 1; v < run.problem["V"]; ++v)
      if (run.inputs.at(row.rank, 0, b, v) > run.inputs.at(row.rank, 0, b, best))
        best = v;
    result.push_back(Expected::exact(double(best)));
  }
  return result;
}

KernelEntry argmaxEntry() {
  return {
      .name = "argmax",
      .summary = "where the largest element of each row is, the first of equal ones",
      .dtypes = Floats::list(),
      .parameters = {{"width", "elements of a tile", {256, 1024, 4096}}},
      .defaults =
          [](const Problem &problem) {
            auto tile = heuristics::elementTile({1, problem["V"], problem.type}, problem.target);
            return Config{{"width", std::min<int64_t>(tile.width, 2048)}};
          },
      .make = [](DType type, const Config &config) { return argmax(type, {config.get("width")}); },
      .shape = {{"B", 1}, {"V", 32000}},
      .testShapes = {{{"B", 1}, {"V", 1}}, {{"B", 5}, {"V", 37}}, {{"B", 3}, {"V", 5000}}},
      .benchShapes = {{{"B", 8}, {"V", 151936}}},
      .checkCases = {{{{"B", 3}, {"V", 7}}, "width=4"}},
      .variants = {"width=16", "width=10"},
      .bytes = [](const Problem &p) { return 1.0 * p["B"] * p["V"] * byteSize(p.type); },
      .baseline = Baseline::read,
      .reference = reference,
  };
}

} // namespace ditron::kernels
