// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ids[b] = where the largest element of row b is: the token that a greedy decoder takes. Each
// column of a row's tiles finds its own, then the first of the largest is taken. Long rows are cut
// into parts, for many cores to look at few rows: then the first of the largest of all parts is
// taken, by the same kernel, or by combine-argmax behind it.
#include "ditron/heuristics/Extents.h"
#include "ditron/heuristics/RowTiles.h"
#include "ditron/kernels/Reference.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include "ditron/lang/Dist.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace ditron::kernels {

//===-- Kernels -------------------------------------------------------------------------------===//

static constexpr i32 kNowhere = std::numeric_limits<i32>::max();

namespace {

/// The largest of some elements, in f32, and the first place that has it.
struct Largest {
  Tile value, place;
};

} // namespace

/// Of elements with a place each, in tiles of one dimension.
static Largest firstOf(const Tile &values, const Tile &places) {
  Tile top = max(values, 0);
  return {top, min(select(values == top, places, kNowhere), 0)};
}

/// Of tiles `first` to `end`, of which there is one at least: tile v has valuesOf(v) at placesOf(v), and
/// places ascend from tile to tile.
static Largest firstOf(Index first, Index end, const auto &valuesOf, const auto &placesOf) {
  Var best = valuesOf(first), where = placesOf(first); // of each column
  for (auto v : range(first + 1, end)) {
    Tile here = valuesOf(v);
    auto isMore = here > best;
    where = select(isMore, placesOf(v), where);
    best = select(isMore, here, best);
  }
  return firstOf(best.get(), where.get());
}

/// Of tiles of a row: one, or those up to `end`.
template <class T>
static Largest largestIn(const ArgmaxConfig &cfg, const View<T, 1, Access::read> &x, Index first,
                         Index end) {
  auto xs = x.tiled(cfg.width);
  auto column = iota(cfg.width);
  auto valuesOf = [&](Index v) { return Tile(cast<f32>(xs(v).padded(-INFINITY))); };
  auto placesOf = [&](Index v) { return Tile(column + v * cfg.width); };
  return cfg.block == 1 ? firstOf(valuesOf(first), placesOf(first))
                        : firstOf(first, end, valuesOf, placesOf);
}

/// Of all parts of a row, `together` of them at a time: their largest elements, and where these are.
template <class T, Access access>
static Tile placeInParts(int together, const View<T, 1, access> &values,
                         const View<i32, 1, access> &places) {
  auto all = values.tiled(together);
  auto where = places.tiled(together);
  return firstOf(
             0, all.cols(), [&](Index p) { return Tile(cast<f32>(all(p).padded(-INFINITY))); },
             [&](Index p) { return Tile(where(p).padded(kNowhere)); })
      .place;
}

/// The parts of rows of V elements.
static Index partsOf(const ArgmaxConfig &cfg, Index V) {
  return cfg.block ? ceilDiv(V, cfg.block * cfg.width) : Index(1);
}

/// Of all parts of all rows, in values[B,P] and places[B,P]; done(b): one of row b is there.
template <class T>
static void searchParts(const ArgmaxConfig &cfg, const In<T> &x, const auto &values,
                        const auto &places, const auto &done) {
  Index P = partsOf(cfg, x.cols()), all = ceilDiv(x.cols(), cfg.width);
  for (auto [b, part] : grid({x.rows(), P})) {
    Index first = part * cfg.block, end = cfg.block ? min(all, first + cfg.block) : all;
    auto [value, place] = largestIn<T>(cfg, x.at(b), first, end);
    values.tiled(1)(b, part) = cast<T>(value);
    places.tiled(1)(b, part) = place;
    done(b);
  }
}

template <class T> static Kernel wholeOf(ArgmaxConfig cfg) {
  return {"argmax(x[B,V]) -> ids[B]", [=](In<T> x, Out<i32, 1> ids) {
            auto result = ids.tiled(1);
            for (auto [b] : result.tiles())
              result(b) = largestIn<T>(cfg, x.at(b), 0, ceilDiv(x.cols(), cfg.width)).place;
          }};
}

template <class T> static Kernel apartOf(ArgmaxConfig cfg) {
  std::string parts = cfg.block ? fmt::format("ceil(V/{})", cfg.block * cfg.width) : "1";
  return {fmt::format("argmax(x[B,V]) -> values[B,{0}], places[B,{0}]", parts),
          [=](In<T> x, Out<T> values, Out<i32> places) {
            searchParts(cfg, x, values, places, [](Index) {});
          }};
}

template <class T> static Kernel joinedOf(ArgmaxConfig cfg) {
  return {"argmax(x[B,V]) -> ids[B]", [=](In<T> x, Out<i32, 1> ids) {
            Index B = x.rows(), P = partsOf(cfg, x.cols());
            auto values = symmetric<T>({B, P}, "values");
            auto places = symmetric<i32>({B, P}, "places");
            auto done = signals(B, "done");
            searchParts(cfg, x, values, places, [&](Index b) { notify(done(b)); });
            auto result = ids.tiled(1);
            for (auto [b] : result.tiles()) {
              wait(done(b), P);
              result(b) = placeInParts(CombineArgmaxConfig{}.parts, values.at(b), places.at(b));
            }
          }};
}

Kernel argmax(DType type, const ArgmaxConfig &config) {
  return Floats::dispatch(type, "argmax", [&]<class T> {
    if (config.apart)
      return apartOf<T>(config);
    return config.block ? joinedOf<T>(config) : wholeOf<T>(config);
  });
}

template <class T> static Kernel combineArgmaxOf(CombineArgmaxConfig cfg) {
  return {"combine-argmax(values[B,P], places[B,P]) -> ids[B]",
          [=](In<T> values, In<i32> places, Out<i32, 1> ids) {
            auto result = ids.tiled(1);
            for (auto [b] : result.tiles())
              result(b) = placeInParts(cfg.parts, values.at(b), places.at(b));
          }};
}

Kernel combineArgmax(DType type, const CombineArgmaxConfig &config) {
  return Floats::dispatch(type, "combine-argmax",
                          [&]<class T> { return combineArgmaxOf<T>(config); });
}

//===-- References ----------------------------------------------------------------------------===//

/// The first largest of elements `first` to `end` of a row of x.
static int64_t placeIn(const Case &run, int64_t rank, int64_t row, int64_t first, int64_t end) {
  int64_t best = first;
  for (int64_t v = first + 1; v < end; ++v)
    if (run.inputs.at(rank, 0, row, v) > run.inputs.at(rank, 0, row, best))
      best = v;
  return best;
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  constexpr size_t kPlaces = 2;
  int64_t V = run.problem["V"], size = run.config["block"] * run.config["width"];
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    if (!run.config["parts"]) {
      result.push_back(Expected::exact(double(placeIn(run, row.rank, column, 0, V))));
      continue;
    }
    int64_t first = column * size, end = size ? std::min(V, first + size) : V;
    int64_t place = placeIn(run, row.rank, row.row, first, end);
    result.push_back(Expected::exact(
        row.argument == kPlaces ? double(place) : run.inputs.at(row.rank, 0, row.row, place)));
  }
  return result;
}

static std::vector<Expected> combined(const Case &run, const OutputRow &row) {
  std::vector<Expected> result;
  for (int64_t b : row.columns) {
    int64_t part = placeIn(run, row.rank, b, 0, run.problem["P"]);
    result.push_back(Expected::exact(run.inputs.at(row.rank, 1, b, part)));
  }
  return result;
}

/// Few numbers, so that several elements of a row are the largest.
static double someAreEqual(const Problem &, const Inputs &inputs, int64_t rank, size_t argument,
                           int64_t element) {
  constexpr double kSteps = 64;
  return std::floor(inputs.standard(rank, argument, element) * kSteps) / kSteps;
}

/// The same, at places that ascend from part to part.
static double partInput(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                        int64_t element) {
  constexpr double kApart = 16;
  if (argument == 0)
    return someAreEqual(problem, inputs, rank, argument, element);
  return std::floor((double(element % problem["P"]) + inputs.uniform(rank, argument, element)) *
                    kApart);
}

//===-- Registry ------------------------------------------------------------------------------===//

static Config defaults(const Problem &problem) {
  auto [width, block] = heuristics::partTile({problem["B"], problem["V"], problem.type},
                                             problem.cores, problem.target);
  return {{"width", width}, {"block", block}, {"parts", 0}};
}

KernelEntry argmaxEntry() {
  return {
      .name = "argmax",
      .summary = "where the largest element of each row is, the first of equal ones",
      .dtypes = Floats::list(),
      .parameters =
          {{"width", "elements of a tile", {256, 1024, 4096}},
           {"block", "tiles of a row that are a part; 0: all", {}, {}, 0},
           {"parts", "the results, those of parts or of rows", {}, {"joined", "apart"}, 0}},
      .defaults = defaults,
      .make =
          [](DType type, const Config &config) {
            return argmax(type, {config.get("width"), int(config["block"]), config["parts"] != 0});
          },
      .shape = {{"B", 1}, {"V", 32000}},
      .testShapes = {{{"B", 1}, {"V", 1}}, {{"B", 5}, {"V", 37}}, {{"B", 3}, {"V", 5000}}},
      .benchShapes = {{{"B", 1}, {"V", 151936}},
                      {{"B", 8}, {"V", 151936}},
                      {{"B", 64}, {"V", 151936}}},
      .checkCases = {{{{"B", 3}, {"V", 7}}, "width=4,block=0"},
                     {{{"B", 3}, {"V", 9}}, "width=2,block=2"},
                     {{{"B", 3}, {"V", 7}}, "width=2,block=1,parts=apart"}},
      .variants = {"width=16,block=0", "width=10,block=3", "width=16,block=1",
                   "width=16,block=2,parts=apart", "width=256,block=1,parts=apart",
                   "block=0,parts=apart"},
      .bytes = [](const Problem &p) { return 1.0 * p["B"] * p["V"] * byteSize(p.type); },
      .baseline = Baseline::read,
      .input = someAreEqual,
      .reference = reference,
  };
}

KernelEntry combineArgmaxEntry() {
  return {
      .name = "combine-argmax",
      .summary = "argmax of rows, of that of each of their parts",
      .dtypes = Floats::list(),
      .parameters = {{"parts", "of a row, that are looked at together", {}}},
      .defaults =
          [](const Problem &problem) {
            return Config{{"parts", heuristics::fit(problem["P"], CombineArgmaxConfig{}.parts)}};
          },
      .make = [](DType type,
                 const Config &config) { return combineArgmax(type, {config.get("parts")}); },
      .shape = {{"B", 1}, {"P", 75}},
      .testShapes = {{{"B", 1}, {"P", 1}}, {{"B", 5}, {"P", 37}}, {{"B", 3}, {"P", 300}}},
      .benchShapes = {{{"B", 64}, {"P", 38}}},
      .checkCases = {{{{"B", 3}, {"P", 7}}, "parts=4"}},
      .variants = {"parts=16", "parts=10"},
      .bytes = [](const Problem &p) { return 1.0 * p["B"] * p["P"] * (byteSize(p.type) + 4); },
      .baseline = Baseline::read,
      .input = partInput,
      .reference = combined,
  };
}

} // namespace ditron::kernels
