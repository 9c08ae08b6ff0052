// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cache-append to a cache in pages: the keys and values of new tokens, of any sequences, several of
// one too, go to their rows of the pages that a table gives.
#include "ditron/heuristics/RowTiles.h"
#include "ditron/kernels/PagedCache.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

template <class T> static Kernel pagedAppendOf(CacheAppendConfig cfg) {
  return {"paged-append(k[T,G,D], v[T,G,D], positions[T], sequences[T], pages[B,L])"
          " -> keys[P,G,S,D], values[P,G,S,D]",
          [=](In<T, 3> k, In<T, 3> v, In<i32, 1> positions, In<i32, 1> sequences, In<i32> pages,
              Out<T, 4> keys, Out<T, 4> values) {
            auto ks = k.tiled(cfg.width), vs = v.tiled(cfg.width);
            Index S = keys.rows();
            for (auto [t, g, d] : ks.tiles()) {
              PagedRow row(positions, sequences, pages, t, S);
              when(row.position() >= 0, [&] {
                // at() ends the launch beyond the pool.
                Index page = row.page(row.position() / S);
                auto place = [&](const Out<T, 4> &cache) {
                  return cache.at(page).at(g).at(row.position() % S).tiled(cfg.width)(d);
                };
                place(keys) = ks(t, g, d);
                place(values) = vs(t, g, d);
              });
            }
          }};
}

Kernel pagedAppend(DType type, const CacheAppendConfig &config) {
  return Floats::dispatch(type, "paged-append", [&]<class T> { return pagedAppendOf<T>(config); });
}

static constexpr PagedArguments kPaged = {2, 3, 4};
static constexpr size_t kKeys = 5;

static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  return pagedInput(problem, kPaged, argument, element)
      .value_or(inputs.standard(rank, argument, element));
}

/// The row of k and v that goes to a row of the cache, or none.
static std::optional<int64_t> sourceOf(const Case &run, const OutputRow &row) {
  int64_t S = run.problem["S"], G = run.problem["G"];
  int64_t page = row.row / S / G, head = row.row / S % G;
  for (int64_t t = 0; t < run.problem["T"]; ++t) {
    auto position = static_cast<int64_t>(run.inputs.at(row.rank, kPaged.positions, t));
    if (position < 0)
      continue;
    PagedPlace place = placeOf(run, kPaged, row.rank, t, position);
    if (place.page == page && place.row == row.row % S)
      return t * G + head;
  }
  return std::nullopt;
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  std::optional<int64_t> source = sourceOf(run, row);
  std::vector<Expected> result;
  for (int64_t column : row.columns)
    result.push_back(
        source ? Expected::exact(run.inputs.at(row.rank, row.argument - kKeys, *source, column))
               : Expected::undefined());
  return result;
}

KernelEntry pagedAppendEntry() {
  return {
      .name = "paged-append",
      .summary = "keys and values of new tokens of any sequences, in a cache in pages",
      .dtypes = Floats::list(),
      .parameters = {{"width", "elements of a tile", {32, 64, 128, 256}}},
      .defaults =
          [](const Problem &problem) {
            auto tile = heuristics::headTile(1, problem["D"], problem.type, problem.target);
            return Config{{"width", tile.width}};
          },
      .make = [](DType type,
                 const Config &config) { return pagedAppend(type, {config.get("width")}); },
      .shape = {{"T", 8}, {"G", 8}, {"D", 128}, {"P", 128}, {"S", 32}, {"B", 8}, {"L", 16}},
      .testShapes = {{{"T", 1}, {"G", 1}, {"D", 1}, {"P", 1}, {"S", 1}, {"B", 1}, {"L", 1}},
                     {{"T", 5}, {"G", 2}, {"D", 20}, {"P", 9}, {"S", 2}, {"B", 3}, {"L", 3}},
                     {{"T", 7}, {"G", 3}, {"D", 64}, {"P", 4}, {"S", 16}, {"B", 2}, {"L", 2}}},
      .benchShapes =
          {{{"T", 64}, {"G", 8}, {"D", 128}, {"P", 1024}, {"S", 32}, {"B", 64}, {"L", 16}}},
      .checkCases = {{{{"T", 4}, {"G", 2}, {"D", 3}, {"P", 6}, {"S", 2}, {"B", 2}, {"L", 3}},
                      "width=2"}},
      .variants = {"width=16", "width=9"},
      .check = [](const Problem &problem) { checkPaged(problem, "paged-append"); },
      .bytes = [](const Problem &p) { return 4.0 * p["T"] * p["G"] * p["D"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .input = input,
      .reference = reference,
  };
}

} // namespace ditron::kernels
