// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kinds of gemv in the registry: their tiles, what they are configured by, and what tests give them.
#include "ditron/heuristics/RowTiles.h"
#include "ditron/kernels/GemvReference.h"
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/PackedWeights.h"

namespace ditron::kernels {

static heuristics::GemvShape shapeOf(const Problem &problem, WeightFormat format) {
  return {problem["B"], rowsOf(problem, format), depthOf(problem, format),
          problem.type, problem.cores,           isPacked(format)};
}

/// A tile that has whole blocks.
static heuristics::GemvTile tileOf(const heuristics::GemvShape &shape, WeightFormat format,
                                   const DeviceTraits &target) {
  heuristics::GemvTile tile = heuristics::gemvTile(shape, target);
  if (isInBlocks(format))
    tile.n = std::max<int64_t>(tile.n, kBlockRows);
  return tile;
}

static Config defaults(const Problem &problem, WeightFormat format) {
  auto tile = tileOf(shapeOf(problem, format), format, problem.target);
  return {{"m", tile.m},
          {"n", tile.n},
          {"k", tile.k},
          {"gated", 0},
          {"rms", 0},
          {"part", 8},
          {"residual", 0},
          {"next", 0},
          {"by", tile.byElements},
          {"summed", 0},
          {"sharers", tile.sharers},
          {"together", tile.together}};
}

/// Of one row of y alone products are taken element by element.
static void multiplyRowsByTiles(Config &config) {
  if (config["m"] > 1)
    config.set("by", 0);
}

/// The tile of products that are taken element by element, for what the configuration asks for.
static void retile(const Problem &problem, Config &config) {
  WeightFormat format = weightFormatOf(config);
  bool isExact = static_cast<Wide>(config["wide"]) == Wide::exact, isOfRow = config["m"] == 1;
  multiplyRowsByTiles(config);
  if (!isExact && !config["rows"])
    return;
  heuristics::GemvShape shape = shapeOf(problem, format);
  shape.isExact = isExact;
  shape.isGated = config["gated"] != 0;
  shape.isLong = config["rows"] != 0;
  shape.isNormed = rowNormOf(config) == RowNorm::yes;
  heuristics::GemvTile tile = tileOf(shape, format, problem.target);
  config.set("m", tile.m);
  config.set("n", tile.n);
  config.set("k", tile.k);
  config.set("by", isOfRow && tile.byElements);
  config.set("sharers", tile.sharers);
  config.set("together", tile.together);
}

static GemvConfig configOf(const Config &config) {
  return {.m = config.get("m"),
          .n = config.get("n"),
          .k = config.get("k"),
          .gated = static_cast<Gated>(config["gated"]),
          .rms = rowNormOf(config),
          .part = config.get("part"),
          .residual = static_cast<Residual>(config["residual"]),
          .startsNorm = config["next"] != 0,
          .byElements = config["by"] != 0,
          .summed = config["summed"] != 0,
          .sharers = config.get("sharers"),
          .together = config.get("together"),
          .isLong = config.valueOr("rows", 0) != 0,
          .wide = static_cast<Wide>(config.valueOr("wide", 0)),
          .format = weightFormatOf(config)};
}

/// Those of the weights, with their scales.
static double bytes(const Problem &problem, const Config &config) {
  constexpr double kBytesOfBlock[] = {0, kBlock + 2, kBlock / 2 + 4, 0, kBlock + 2};
  WeightFormat format = weightFormatOf(config);
  double rows = double(rowsOf(problem, format)) * (config["gated"] ? 2 : 1);
  double each =
      isPacked(format) ? kBytesOfBlock[int(format)] / kBlock : double(byteSize(problem.type));
  return rows * double(depthOf(problem, format)) * each;
}

/// What products by both kinds of weights have.
static KernelEntry commonEntry() {
  KernelEntry entry;
  entry.dtypes = Floats::list();
  entry.parameters = {
      {"m", "rows of a tile of y", {1, 2, 4, 8, 16, 32, 64}},
      {"n", "columns of a tile of y, rows of W", {4, 8, 16, 32, 64, 128}},
      {"k", "terms a step adds", {64, 128, 512, 1024, 2048, 4096, 8192, 16384}},
      {"gated",
       "y = silu(gate) * up, whose rows of W are two halves, or take turns",
       {},
       {"none", "halves", "pairs"},
       0},
      {"rms",
       "x is x / sqrt(mean(x * x) + eps) * gain; started: what was multiplied by the "
       "gain, beside the sums of its squares",
       {},
       {"no", "yes", "started"},
       0},
      {"part", "elements of x that have one of these sums", {}},
      {"residual",
       "adds residual[B,N]; early: it is asked for in front of the products",
       {},
       {"no", "yes", "early"},
       0},
      {"next", "starts the norm of y", {}, {"no", "yes"}, 0},
      {"by", "how rows are multiplied", {}, {"tiles", "elements"}, 0},
      {.name = "summed",
       .summary = "y is added over the ranks, each of which has a part of the terms",
       .candidates = {},
       .names = {"no", "ranks"},
       .minimum = 0,
       .needs = {{"gated", {0}}},
       .without = 0},
      {.name = "sharers",
       .summary = "cores that share the terms of a tile, where they can",
       .candidates = {}, // of no effect on CPUs
       .needs = {{"by", {0}}, {"together", {1}}}},
      {.name = "together",
       .summary =
           "tiles of y, one beside the other, that share x and travel to other ranks at once",
       .candidates = {1, 2},
       .needs = {{"by", {0}}, {"sharers", {1}}}}};
  entry.make = [](DType type, const Config &config) { return gemv(type, configOf(config)); };
  entry.scalars = {{"eps", 1e-5}};
  entry.bytesOfVariant = bytes;
  entry.baseline = Baseline::read;
  entry.input = gemvInput;
  entry.reference = gemvReference;
  return entry;
}

/// What products by numbers have.
template <WeightFormat format> static KernelEntry entryOfNumbers() {
  KernelEntry entry = commonEntry();
  entry.name = gemvName(format);
  entry.parameters.push_back({"wide",
                              "x, gain, residual and y are of f32; exact: products too; "
                              "results: residual and y",
                              {},
                              {"no", "yes", "exact", "results"},
                              0});
  entry.parameters.push_back({"rows",
                              "parts of rows of W: long ones, of few rows x, stream through a "
                              "megakernel on GPUs",
                              {},
                              {"usual", "long"},
                              0});
  entry.defaults = [](const Problem &problem) {
    Config config = defaults(problem, format);
    config.add({"wide", 0});
    config.add({"rows", 0});
    if (format == WeightFormat::blocked)
      config.add({"blocks", 0});
    return config;
  };
  entry.retile = [](const Problem &problem, Config &config) { retile(problem, config); };
  return entry;
}

KernelEntry gemvEntry() {
  KernelEntry entry = entryOfNumbers<WeightFormat::plain>();
  entry.summary = "y = x * W^T of few rows x, with what a decoder has around it";
  entry.shape = {{"B", 1}, {"N", 4096}, {"K", 4096}};
  entry.benchShapes = {{{"B", 1}, {"N", 16384}, {"K", 4096}},
                       {{"B", 8}, {"N", 16384}, {"K", 4096}}};
  entry.testShapes = {{{"B", 1}, {"N", 1}, {"K", 1}},
                      {{"B", 1}, {"N", 130}, {"K", 37}},
                      {{"B", 3}, {"N", 67}, {"K", 2100}},
                      {{"B", 5}, {"N", 71}, {"K", 131}}};
  entry.checkCases = {
      {{{"B", 3}, {"N", 5}, {"K", 7}}, "m=2,n=2,k=4"},
      {{{"B", 3}, {"N", 5}, {"K", 7}}, "m=2,n=2,k=4,gated=halves,rms=yes,residual=yes"},
      {{{"B", 3}, {"N", 5}, {"K", 7}}, "m=2,n=2,k=4,gated=pairs"},
      {{{"B", 3}, {"N", 5}, {"K", 7}}, "m=2,n=2,k=4,summed=ranks,residual=yes"},
      {{{"B", 3}, {"N", 5}, {"K", 7}}, "m=2,n=2,k=4,together=2,summed=ranks,residual=yes,next=yes"},
      {{{"B", 3}, {"N", 5}, {"K", 7}}, "m=2,n=2,k=4,rms=started,part=2,residual=yes,next=yes"}};
  entry.variants = {"m=2,n=3,k=20,by=tiles",
                    "m=2,n=8,k=16,by=tiles,rms=yes",
                    "m=8,n=64,k=64,by=tiles,sharers=2,wide=results,residual=yes",
                    "m=8,n=64,k=64,by=tiles,sharers=4,gated=halves,rms=yes",
                    "m=2,n=3,k=20,by=tiles,together=2,residual=yes",
                    "m=1,n=16,k=64,by=tiles,together=3,gated=halves,rms=yes",
                    "m=4,n=16,k=64,by=tiles,together=2,summed=ranks,residual=yes,next=yes",
                    "residual=yes",
                    "m=8,n=64,k=64,by=tiles,residual=early",
                    "summed=ranks,residual=yes,next=yes",
                    "m=8,n=64,k=64,by=tiles,sharers=2,summed=ranks,residual=yes",
                    "gated=halves",
                    "gated=pairs",
                    "wide=yes",
                    "gated=halves,rms=yes,residual=yes,wide=yes",
                    "gated=halves,rms=yes,residual=yes,wide=exact",
                    "m=1,n=4,k=20,by=elements,wide=exact",
                    "residual=yes,wide=results",
                    "m=1,n=3,k=20,by=elements,gated=halves,rms=yes,residual=yes",
                    "rms=started,part=3,gated=halves,residual=yes,next=yes",
                    "rms=started,wide=results,residual=yes,next=yes",
                    "m=1,n=4,k=20,by=elements,rms=started,part=4,residual=yes,next=yes"};
  return entry;
}

KernelEntry blockedGemvEntry() {
  KernelEntry entry = entryOfNumbers<WeightFormat::blocked>();
  entry.summary = "gemv by weights in blocks of 8 rows by 32 terms, as tensor cores take them";
  entry.parameters.push_back(
      {"blocks", "what is in blocks: numbers, or format q8-0", {}, {"numbers", "q8-0"}, 0});
  entry.shape = {{"B", 1}, {"J", 512}, {"G", 128}};
  entry.benchShapes = {{{"B", 1}, {"J", 2048}, {"G", 128}}, {{"B", 8}, {"J", 2048}, {"G", 128}}};
  entry.testShapes = {{{"B", 1}, {"J", 1}, {"G", 1}},
                      {{"B", 1}, {"J", 17}, {"G", 3}},
                      {{"B", 3}, {"J", 9}, {"G", 67}},
                      {{"B", 5}, {"J", 9}, {"G", 5}}};
  entry.checkCases = {{{{"B", 3}, {"J", 2}, {"G", 2}}, "m=2,n=8,k=32"},
                      {{{"B", 3}, {"J", 3}, {"G", 2}}, "m=2,n=16,k=32,gated=halves,residual=yes"},
                      {{{"B", 3}, {"J", 3}, {"G", 2}}, "m=2,n=8,k=32,blocks=q8-0,rows=long"}};
  entry.variants = {"m=2,n=8,k=64,by=tiles,together=2",
                    "m=2,n=16,k=32,by=tiles,rms=yes",
                    "m=1,n=8,k=64,by=elements",
                    "wide=results,residual=yes,next=yes",
                    "gated=halves,rms=yes,residual=yes,wide=exact",
                    "blocks=q8-0",
                    "m=16,blocks=q8-0,rows=long",
                    "m=1,n=8,k=64,by=elements,blocks=q8-0,wide=exact",
                    "blocks=q8-0,rows=long,gated=halves,rms=yes,residual=yes",
                    "m=2,n=8,k=64,by=tiles,blocks=q8-0,rows=long,together=2,wide=results"};
  return entry;
}

KernelEntry packedGemvEntry() {
  KernelEntry entry = commonEntry();
  entry.name = "packed-gemv";
  entry.summary = "gemv by weights in blocks of 32 with a scale, and with a minimum";
  entry.parameters.push_back(
      {"format", "of the weights, as GGUF names it", {}, {"q8-0", "q4-1"}, 0});
  entry.defaults = [](const Problem &problem) {
    Config config = defaults(problem, WeightFormat::q8_0);
    config.add({"format", 0});
    return config;
  };
  entry.retile = [](const Problem &, Config &config) { multiplyRowsByTiles(config); };
  entry.shape = {{"B", 1}, {"N", 4096}, {"G", 128}};
  entry.benchShapes = {{{"B", 1}, {"N", 32768}, {"G", 128}}, {{"B", 8}, {"N", 32768}, {"G", 128}}};
  entry.testShapes = {{{"B", 1}, {"N", 1}, {"G", 1}},
                      {{"B", 1}, {"N", 130}, {"G", 3}},
                      {{"B", 3}, {"N", 67}, {"G", 33}},
                      {{"B", 5}, {"N", 71}, {"G", 5}}};
  entry.checkCases = {{{{"B", 3}, {"N", 5}, {"G", 2}}, "m=2,n=2,k=32"},
                      {{{"B", 3}, {"N", 5}, {"G", 2}}, "m=2,n=2,k=32,format=q4-1"}};
  entry.variants = {"m=2,n=3,k=64,by=tiles,together=2",
                    "m=2,n=3,k=64,by=tiles",
                    "m=1,k=64,gated=pairs",
                    "format=q4-1",
                    "m=1,n=2,k=64,by=elements",
                    "k=96,format=q4-1,gated=halves,rms=yes,residual=yes"};
  return entry;
}

} // namespace ditron::kernels
