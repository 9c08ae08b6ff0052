// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The key and the value of a sequence's new token go to their row of its cache.
#include "ditron/heuristics/RowTiles.h"
#include "ditron/kernels/Reference.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include <cmath>

namespace ditron::kernels {

template <class T> static Kernel cacheAppendOf(CacheAppendConfig cfg) {
  return {"cache-append(k[B,G,D], v[B,G,D], positions[B]) -> keys[B,G,S,D], values[B,G,S,D]",
          [=](In<T, 3> k, In<T, 3> v, In<i32, 1> positions, Out<T, 4> keys, Out<T, 4> values) {
            auto ks = k.tiled(cfg.width), vs = v.tiled(cfg.width);
            for (auto [b, g, d] : ks.tiles()) {
              Index position = toIndex(positions.read({b}));
              // at() ends the launch beyond the cache.
              auto row = [&](const Out<T, 4> &cache) {
                return cache.at(b).at(g).at(position).tiled(cfg.width)(d);
              };
              row(keys) = ks(b, g, d);
              row(values) = vs(b, g, d);
            }
          }};
}

Kernel cacheAppend(DType type, const CacheAppendConfig &config) {
  return Floats::dispatch(type, "cache-append", [&]<class T> { return cacheAppendOf<T>(config); });
}

static constexpr size_t kPositions = 2, kKeys = 3;

static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  return argument == kPositions
             ? std::floor(inputs.uniform(rank, argument, element) * double(problem["S"]))
             : inputs.standard(rank, argument, element);
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  int64_t S = run.problem["S"], head = row.row / S, sequence = head / run.problem["G"];
  bool isWritten = double(row.row % S) == run.inputs.at(row.rank, kPositions, sequence);
  std::vector<Expected> result;
  for (int64_t column : row.columns)
    result.push_back(
        isWritten ? Expected::exact(run.inputs.at(row.rank, row.argument - kKeys, head, column))
                  : Expected::undefined());
  return result;
}

KernelEntry cacheAppendEntry() {
  return {
      .name = "cache-append",
      .summary = "keys and values of new tokens, at their positions in the cache",
      .dtypes = Floats::list(),
      .parameters = {{"width", "elements of a tile", {32, 64, 128, 256}}},
      .defaults =
          [](const Problem &problem) {
            auto tile = heuristics::headTile(1, problem["D"], problem.type, problem.target);
            return Config{{"width", tile.width}};
          },
      .make = [](DType type,
                 const Config &config) { return cacheAppend(type, {config.get("width")}); },
      .shape = {{"B", 8}, {"G", 8}, {"S", 512}, {"D", 128}},
      .testShapes = {{{"B", 1}, {"G", 1}, {"S", 1}, {"D", 1}},
                     {{"B", 3}, {"G", 2}, {"S", 5}, {"D", 20}},
                     {{"B", 2}, {"G", 3}, {"S", 7}, {"D", 64}}},
      .benchShapes = {{{"B", 64}, {"G", 8}, {"S", 512}, {"D", 128}}},
      .checkCases = {{{{"B", 2}, {"G", 2}, {"S", 3}, {"D", 3}}, "width=2"}},
      .variants = {"width=16", "width=9"},
      .bytes = [](const Problem &p) { return 4.0 * p["B"] * p["G"] * p["D"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .input = input,
      .reference = reference,
  };
}

} // namespace ditron::kernels
