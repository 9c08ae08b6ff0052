// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y[t] = table[ids[t]]: what a decoder begins with.
#include "ditron/heuristics/RowTiles.h"
#include "ditron/kernels/Reference.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include <cmath>

namespace ditron::kernels {

/// Rows of a table of T as rows of Y.
template <class T, class Y> static Kernel embedOf(EmbedConfig cfg) {
  return {"embed(ids[T], table[V,H]) -> y[T,H]", [=](In<i32, 1> ids, In<T> table, Out<Y> y) {
            auto ys = y.tiled(cfg.width);
            for (auto [t, h] : ys.tiles()) {
              // at() ends the launch beyond the table.
              auto row = table.at(toIndex(ids.read({t}))).tiled(cfg.width);
              ys(t, h) = cast<Y>(row(h));
            }
          }};
}

Kernel embed(DType type, const EmbedConfig &config) {
  return Floats::dispatch(type, "embed", [&]<class T> {
    return config.wide ? embedOf<T, f32>(config) : embedOf<T, T>(config);
  });
}

static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  return argument == 0 ? std::floor(inputs.uniform(rank, argument, element) * double(problem["V"]))
                       : inputs.standard(rank, argument, element);
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  auto id = static_cast<int64_t>(run.inputs.at(row.rank, 0, row.row));
  std::vector<Expected> result;
  for (int64_t column : row.columns)
    result.push_back(Expected::exact(run.inputs.at(row.rank, 1, id, column)));
  return result;
}

KernelEntry embedEntry() {
  return {
      .name = "embed",
      .summary = "rows of a table, by number",
      .dtypes = Floats::list(),
      .parameters = {{"width", "elements of a row that a tile has", {256, 1024, 4096}},
                     {"wide", "y is of f32", {}, {"no", "yes"}, 0}},
      .defaults =
          [](const Problem &problem) {
            auto tile = heuristics::elementTile({1, problem["H"], problem.type}, problem.target);
            return Config{{"width", tile.width}, {"wide", 0}};
          },
      .make =
          [](DType type, const Config &config) {
            return embed(type, {config.get("width"), config["wide"] != 0});
          },
      .shape = {{"T", 8}, {"V", 32000}, {"H", 1024}},
      .testShapes = {{{"T", 1}, {"V", 1}, {"H", 1}},
                     {{"T", 7}, {"V", 3}, {"H", 37}},
                     {{"T", 13}, {"V", 100}, {"H", 128}}},
      .benchShapes = {{{"T", 4096}, {"V", 32000}, {"H", 4096}}},
      .checkCases = {{{{"T", 3}, {"V", 5}, {"H", 7}}, "width=4"}},
      .variants = {"width=16", "wide=yes"},
      .bytes = [](const Problem &p) { return 2.0 * p["T"] * p["H"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .input = input,
      .reference = reference,
  };
}

} // namespace ditron::kernels
