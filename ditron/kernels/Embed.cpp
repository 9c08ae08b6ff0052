// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y[t] = table[ids[t]]: what a decoder begins with.
#include "ditron/heuristics/RowTiles.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/PackedWeights.h"
#include "ditron/kernels/kernels.h"
#include <algorithm>
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

/// The same of a table in blocks with a scale.
template <class Y> static Kernel packedEmbedOf(EmbedConfig cfg) {
  return {"packed-embed(ids[T], table[V,32*G], scales[V,G]) -> y[T,32*G]",
          [=](In<i32, 1> ids, In<i8> table, In<f16> scales, Out<Y> y) {
            auto ys = y.tiled(1, cfg.width);
            for (auto [t, h] : ys.tiles()) {
              Index id = toIndex(ids.read({t}));
              // slice() ends the launch beyond the table.
              PackedViews row{table.slice(0, id, 1), scales.slice(0, id, 1), {}};
              ys(t, h) = cast<Y>(unpacked(row, cfg.format, 1, cfg.width, 0, h));
            }
          }};
}

Kernel embed(DType type, const EmbedConfig &config) {
  checkBlocks(config.format, 1, config.width, "packed-embed");
  if (config.format == WeightFormat::q4_1)
    throw CompileError("embed: the table is of q4-1, expected plain rows, or q8-0");
  return Floats::dispatch(type, "embed", [&]<class T> {
    if (config.format == WeightFormat::q8_0)
      return packedEmbedOf<T>(config);
    return config.wide ? embedOf<T, f32>(config) : embedOf<T, T>(config);
  });
}

static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  if (argument == 0)
    return std::floor(inputs.uniform(rank, argument, element) * double(problem["V"]));
  return inputs.type(argument) == DType::i8 ? packedInput(inputs, rank, argument, element)
                                            : inputs.standard(rank, argument, element);
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  auto id = static_cast<int64_t>(run.inputs.at(row.rank, 0, row.row));
  bool isPacked = run.inputs.type(1) == DType::i8;
  DType type = run.inputs.type(row.argument);
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    double value = weightAt(run.inputs, isPacked ? WeightFormat::q8_0 : WeightFormat::plain,
                            row.rank, 1, id, column);
    // A product of 8 by 11 bits is exact, and then rounded once.
    result.push_back(Expected::exact(roundTo(type, value)));
  }
  return result;
}

/// What tables of both kinds have.
static KernelEntry commonEntry() {
  KernelEntry entry;
  entry.dtypes = Floats::list();
  entry.parameters = {{"width", "elements of a row that a tile has", {256, 1024, 4096}}};
  entry.baseline = Baseline::copy;
  entry.input = input;
  entry.reference = reference;
  return entry;
}

KernelEntry embedEntry() {
  KernelEntry entry = commonEntry();
  entry.name = "embed";
  entry.summary = "rows of a table, by number";
  entry.shape = {{"T", 8}, {"V", 32000}, {"H", 1024}};
  entry.benchShapes = {{{"T", 4096}, {"V", 32000}, {"H", 4096}}};
  entry.bytes = [](const Problem &p) { return 2.0 * p["T"] * p["H"] * byteSize(p.type); };
  entry.parameters.push_back({"wide", "y is of f32", {}, {"no", "yes"}, 0});
  entry.defaults = [](const Problem &problem) {
    auto tile = heuristics::elementTile({1, problem["H"], problem.type}, problem.target);
    return Config{{"width", tile.width}, {"wide", 0}};
  };
  entry.make = [](DType type, const Config &config) {
    return embed(type, {config.get("width"), config["wide"] != 0});
  };
  entry.testShapes = {{{"T", 1}, {"V", 1}, {"H", 1}},
                      {{"T", 7}, {"V", 3}, {"H", 37}},
                      {{"T", 13}, {"V", 100}, {"H", 128}}};
  entry.checkCases = {{{{"T", 3}, {"V", 5}, {"H", 7}}, "width=4"}};
  entry.variants = {"width=16", "wide=yes"};
  return entry;
}

KernelEntry packedEmbedEntry() {
  KernelEntry entry = commonEntry();
  entry.name = "packed-embed";
  entry.summary = "rows of a table in blocks of 32 with a scale, by number";
  entry.shape = {{"T", 8}, {"V", 32000}, {"G", 32}};
  entry.benchShapes = {{{"T", 4096}, {"V", 32000}, {"G", 128}}};
  entry.bytes = [](const Problem &p) {
    return double(p["T"]) * p["G"] * (kBlock * (1 + byteSize(p.type)) + 2);
  };
  entry.defaults = [](const Problem &problem) {
    constexpr int64_t kWidest = 2048;
    return Config{{"width", std::min(problem["G"] * kBlock, kWidest)}};
  };
  entry.make = [](DType type, const Config &config) {
    return embed(type, {config.get("width"), false, WeightFormat::q8_0});
  };
  entry.testShapes = {{{"T", 1}, {"V", 1}, {"G", 1}},
                      {{"T", 7}, {"V", 3}, {"G", 3}},
                      {{"T", 13}, {"V", 100}, {"G", 5}}};
  entry.checkCases = {{{{"T", 3}, {"V", 5}, {"G", 2}}, "width=32"}};
  entry.variants = {"width=64"};
  return entry;
}

} // namespace ditron::kernels
