// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = x * W^T of few rows x, as a step of a decoder has them: W is read once, and that takes the
// time. What stands before and behind such a product in a decoder is done with it: the norm of x,
// the gate of a feed-forward layer, the residual.
#include "ditron/heuristics/RowTiles.h"
#include "ditron/kernels/GemvReference.h"
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/PackedWeights.h"
#include "ditron/kernels/kernels.h"
#include <deque>
#include <fmt/format.h>
#include <type_traits>
#include <variant>

namespace ditron::kernels {

//===-- Kernel --------------------------------------------------------------------------------===//

static const char *nameOf(WeightFormat format) {
  return format == WeightFormat::plain     ? "gemv"
         : format == WeightFormat::blocked ? "blocked-gemv"
                                           : "packed-gemv";
}

static std::string signatureOf(const GemvConfig &cfg) {
  std::string rows = rowsText(cfg.format), depth = depthText(cfg.format);
  std::string text = fmt::format(
      "{}(x[B,{}], {}, {}, {}, {}, {}", nameOf(cfg.format), depth,
      signatureOf(cfg.format, "W", cfg.gated == Gated::none ? 1 : 2),
      cfg.rms == RowNorm::yes ? "gain[" + depth + "]" : "-",
      cfg.rms == RowNorm::started ? fmt::format("squares[B,ceil({}/{})]", depth, cfg.part) : "-",
      cfg.rms == RowNorm::no ? "-" : "eps",
      cfg.residual == Residual::none ? "-" : "residual[B," + rows + "]");
  if (!cfg.startsNorm)
    return fmt::format("{}) -> y[B,{}]", text, rows);
  return fmt::format("{}, nextGain[{}]) -> y[B,{}], scaled[B,{}], nextSquares[B,ceil({}/{})]", text,
                     rows, rows, rows, rows, cfg.n);
}

/// The argument W: a matrix, or one in blocks.
template <class W, WeightFormat format>
using WeightArgument = In<W, format == WeightFormat::blocked ? 4 : 2>;

/// Weights of W, in rows or in blocks, or packed in i8.
template <class W> struct GemvWeights {
  std::variant<In<W>, In<W, 4>> values;
  std::optional<In<f16>> scales, minima;
};

/// What x may be normalised with.
template <class X> struct GemvNorm {
  std::optional<In<X, 1>> gain;
  std::optional<In<f32>> squares;
  std::optional<Scalar<f32>> eps;

  /// The sums of the squares of rows `i`, of which `m` make a tile, in lanes: they are added up when they
  /// are asked for.
  Tile partsOf(int m, Index i) const {
    constexpr int kParts = 512;
    int width = std::max(kParts / m, 16);
    auto parts = squares->tiled(m, width);
    Var sum = Tile(parts(i, 0));
    for (auto n : range(ceilDiv(squares->cols(), width) - 1))
      sum += parts(i, n + 1);
    return sum;
  }
  /// What a sum of K squares is normalised by.
  Tile scaleOf(const Tile &squaresOfRow, Index K) const {
    return rsqrt(squaresOfRow / cast<f32>(toTile(K)) + *eps);
  }
};

/// The rows of the gates (0) among 2 * N, or of what they gate (1). All of them where nothing is gated.
template <class T>
static View<T, 2, Access::read> rowsOf(const GemvConfig &cfg, const In<T> &view, Index N,
                                       int which) {
  if (cfg.gated == Gated::none)
    return view;
  if (cfg.gated == Gated::pairs)
    return view.split(N).at(1, which);
  return view.slice(0, which * N, N);
}
/// The same of rows in blocks.
template <class T>
static View<T, 4, Access::read> rowsOf(const GemvConfig &cfg, const In<T, 4> &view, Index N,
                                       int which) {
  if (cfg.gated == Gated::none)
    return view;
  return view.slice(0, which * (N / kBlockRows), N / kBlockRows);
}

/// Step `k` of tile `j` of those rows.
template <class W>
static Tile weightsOf(const GemvConfig &cfg, const GemvWeights<W> &weights, Index N, int which,
                      Index j, Index k) {
  if (const auto *blocks = std::get_if<In<W, 4>>(&weights.values))
    return unblocked(rowsOf(cfg, *blocks, N, which), cfg.n, cfg.k, j, k);
  View<W, 2, Access::read> rows = rowsOf(cfg, std::get<In<W>>(weights.values), N, which);
  if constexpr (std::is_same_v<W, i8>) {
    PackedViews views{rows, rowsOf(cfg, *weights.scales, N, which), {}};
    if (weights.minima)
      views.minima = rowsOf(cfg, *weights.minima, N, which);
    return unpacked(views, cfg.format, cfg.n, cfg.k, j, k);
  } else {
    return rows.tiled(cfg.n, cfg.k)(j, k);
  }
}

/// Products of a tile of x and one of rows of W, and of the rows that give what is gated.
struct GemvSums {
  Tile first, second;
};

/// Those of tiles (i, columns) of y, x normalised where there is a gain, multiplied in F.
template <class F, class W, class X>
static std::vector<GemvSums> productsOf(const GemvConfig &cfg, const In<X> &x,
                                        const GemvWeights<W> &weights, const GemvNorm<X> &norm,
                                        Index N, Index i, const std::vector<Index> &columns) {
  std::deque<Var<Tile>> sums, others;
  for (size_t n = 0; n < columns.size(); ++n) {
    sums.emplace_back(zeros<f32>(cfg.m, cfg.n));
    others.emplace_back(zeros<f32>(cfg.m, cfg.n));
  }
  Var squares = zeros<f32>(cfg.m, 1);
  std::optional<Tile> parts; // on their way while products are taken
  if (norm.squares && cfg.isLong)
    parts.emplace(norm.partsOf(cfg.m, i));
  for (auto k : range(ceilDiv(x.cols(), cfg.k))) {
    Tile read = x.tiled(cfg.m, cfg.k)(i, k);
    if (norm.gain) {
      auto wide = cast<f32>(read);
      squares += ditron::sum(wide * wide, 1);
    }
    auto scaled = norm.gain ? cast<f32>(read) * cast<f32>(norm.gain->tiled(cfg.k)(k)) : read;
    auto factor = cast<F>(scaled);
    auto rows = [&](int which, Index j) {
      Tile read = weightsOf(cfg, weights, N, which, j, k);
      return transpose(std::is_same_v<F, W> ? read : cast<F>(read));
    };
    for (size_t n = 0; n < columns.size(); ++n) {
      sums[n] += dot(factor, rows(0, columns[n]));
      if (cfg.gated != Gated::none)
        others[n] += dot(factor, rows(1, columns[n]));
    }
  }
  if (norm.squares && !parts)
    parts.emplace(norm.partsOf(cfg.m, i));
  std::optional<Tile> scale;
  if (norm.eps)
    scale.emplace(norm.scaleOf(parts ? ditron::sum(*parts, 1) : Tile(squares), x.cols()));
  std::vector<GemvSums> result;
  for (size_t n = 0; n < columns.size(); ++n) {
    Tile first = sums[n], second = others[n];
    result.push_back(scale ? GemvSums{first * *scale, second * *scale} : GemvSums{first, second});
  }
  return result;
}

/// The same of one row of x, element by element: a tile of a tensor core would be almost empty, and of
/// f32 there is none.
template <class F, class W, class X>
static GemvSums elementsOf(const GemvConfig &cfg, const In<X> &x, const GemvWeights<W> &weights,
                           const GemvNorm<X> &norm, Index N, Index i, Index j) {
  Var sums = zeros<f32>(cfg.n, cfg.k), others = zeros<f32>(cfg.n, cfg.k);
  Var squares = zeros<f32>(1, cfg.k);
  std::optional<Tile> parts; // on their way while products are taken
  if (norm.squares)
    parts.emplace(norm.partsOf(1, i));
  for (auto k : range(ceilDiv(x.cols(), cfg.k))) {
    auto read = cast<f32>(Tile(x.tiled(1, cfg.k)(i, k)));
    if (norm.gain)
      squares = fma(read, read, squares);
    auto scaled = norm.gain ? read * cast<f32>(norm.gain->tiled(cfg.k)(k)) : read;
    auto factor = cast<f32>(cast<F>(scaled));
    sums = fma(factor, cast<f32>(weightsOf(cfg, weights, N, 0, j, k)), sums);
    if (cfg.gated != Gated::none)
      others = fma(factor, cast<f32>(weightsOf(cfg, weights, N, 1, j, k)), others);
  }
  // The sums that threads take together stand together.
  Tile ofRows = ditron::sum(sums, 1), ofOthers = ditron::sum(others, 1);
  Tile ofSquares = ditron::sum(parts.value_or(squares), 1);
  auto row = [&](const Tile &terms) { return reshape(terms, {1, cfg.n}); };
  if (!norm.eps)
    return {row(ofRows), row(ofOthers)};
  Tile scale = norm.scaleOf(ofSquares, x.cols());
  return {row(ofRows) * scale, row(ofOthers) * scale};
}

/// What a product has around it.
template <class W, class X, class Y> struct GemvOperands {
  In<X> x;
  GemvWeights<W> weights;
  GemvNorm<X> norm;
  std::optional<In<Y>> residual;
};

/// What ranks have of the tiles of y; none where y is not summed over them.
using Parts = std::optional<InboxArray<3, false>>;

static Parts partsOf(const GemvConfig &cfg, Index rows, Index columns) {
  if (!cfg.summed)
    return {};
  return inbox<f32>({numRanks(), rows, columns}, {cfg.m, cfg.n}, "parts");
}

/// Tiles (i, columns) of y before they are rounded, multiplied in F. A residual that is asked for early is there
/// when the products are. All tiles are sent before one is received.
template <class F, class W, class X, class Y>
static std::vector<Tile> resultsOf(const GemvConfig &cfg, const GemvOperands<W, X, Y> &in,
                                   const Parts &parts, Index N, Index i,
                                   const std::vector<Index> &columns) {
  auto residualOf = [&](Index j) { return Tile(in.residual->tiled(cfg.m, cfg.n)(i, j)); };
  std::vector<Tile> residuals;
  bool isEarly = cfg.residual == Residual::early || cfg.byElements || cfg.isLong;
  if (in.residual && isEarly)
    for (Index j : columns)
      residuals.push_back(residualOf(j));
  std::vector<GemvSums> sums =
      cfg.byElements
          ? std::vector{elementsOf<F>(cfg, in.x, in.weights, in.norm, N, i, columns.front())}
          : productsOf<F>(cfg, in.x, in.weights, in.norm, N, i, columns);
  std::vector<Tile> own, results;
  for (auto [first, second] : sums)
    own.push_back(cfg.gated == Gated::none ? first : Tile(first * sigmoid(first) * second));
  auto overRanks = [&] {
    for (size_t n = 0; n < columns.size(); ++n)
      sendToPeers(own[n], *parts, i, columns[n]);
    return sumsOfReceived<f32>(own, *parts, i, columns);
  };
  std::vector<Tile> totals = parts ? overRanks() : own;
  if (!in.residual)
    return totals;
  for (size_t n = 0; n < columns.size(); ++n)
    results.push_back(totals[n] +
                      cast<f32>(residuals.empty() ? residualOf(columns[n]) : residuals[n]));
  return results;
}

/// tiles(i, columns): the places of the tiles of y that a core computes together.
template <class Y>
static void eachGroup(const GemvConfig &cfg, const Out<Y> &y, const auto &tiles) {
  for (auto [i, group] :
       y.tiled(cfg.m, cfg.n * cfg.together).tiles(order::rowMajor.sharedBy(cfg.sharers))) {
    std::vector<Index> columns;
    for (int n = 0; n < cfg.together; ++n)
      columns.push_back(cfg.together == 1 ? group : group * cfg.together + n);
    tiles(i, columns);
  }
}

/// Products in F of x in X and weights in W, as results in Y.
template <class F, class W, class X, class Y, WeightFormat format>
static Kernel gemvOf(GemvConfig cfg) {
  using Weights = WeightArgument<W, format>;
  using Scales = std::optional<In<f16>>;
  using Gain = std::optional<In<X, 1>>;
  if (!cfg.startsNorm)
    return {signatureOf(cfg), [=](In<X> x, Weights weights, Scales scales, Scales minima, Gain gain,
                                  std::optional<In<f32>> squares, std::optional<Scalar<f32>> eps,
                                  std::optional<In<Y>> residual, Out<Y> y) {
              GemvOperands<W, X, Y> in{
                  x, {weights, scales, minima}, {gain, squares, eps}, residual};
              auto ys = y.tiled(cfg.m, cfg.n);
              Parts parts =
                  partsOf(cfg, ys.rows(), cfg.together * ceilDiv(y.cols(), cfg.n * cfg.together));
              eachGroup(cfg, y, [&](Index i, const std::vector<Index> &columns) {
                std::vector<Tile> results = resultsOf<F>(cfg, in, parts, y.cols(), i, columns);
                for (size_t n = 0; n < columns.size(); ++n)
                  ys(i, columns[n]) = cast<Y>(results[n]);
              });
            }};
  return {signatureOf(cfg), [=](In<X> x, Weights weights, Scales scales, Scales minima, Gain gain,
                                std::optional<In<f32>> squares, std::optional<Scalar<f32>> eps,
                                std::optional<In<Y>> residual, In<Y, 1> nextGain, Out<Y> y,
                                Out<X> scaled, Out<f32> nextSquares) {
            GemvOperands<W, X, Y> in{x, {weights, scales, minima}, {gain, squares, eps}, residual};
            auto ys = y.tiled(cfg.m, cfg.n);
            Parts parts =
                partsOf(cfg, ys.rows(), cfg.together * ceilDiv(y.cols(), cfg.n * cfg.together));
            eachGroup(cfg, y, [&](Index i, const std::vector<Index> &columns) {
              std::vector<Tile> gains;
              for (Index j : columns)
                gains.push_back(cast<f32>(Tile(nextGain.tiled(cfg.n)(j))));
              std::vector<Tile> results = resultsOf<F>(cfg, in, parts, y.cols(), i, columns);
              for (size_t n = 0; n < columns.size(); ++n) {
                Index j = columns[n];
                ys(i, j) = cast<Y>(results[n]);
                scaled.tiled(cfg.m, cfg.n)(i, j) = cast<X>(results[n] * gains[n]);
                nextSquares.tiled(cfg.m, 1)(i, j) = sum(results[n] * results[n], 1);
              }
            });
          }};
}

/// Of weights in T, one number each.
template <class T, WeightFormat format> static Kernel gemvOf(const GemvConfig &config) {
  switch (config.wide) {
  case Wide::no:
    return gemvOf<T, T, T, T, format>(config);
  case Wide::yes:
    return gemvOf<T, T, f32, f32, format>(config);
  case Wide::exact:
    return gemvOf<f32, T, f32, f32, format>(config);
  case Wide::results:
    return gemvOf<T, T, T, f32, format>(config);
  }
  throw InternalError("a product that is wide in no way");
}

Kernel gemv(DType type, const GemvConfig &config) {
  checkBlocks(config.format, config.n, config.k, nameOf(config.format));
  if (config.format == WeightFormat::blocked && config.gated == Gated::pairs)
    throw CompileError("blocked-gemv: gates are in pairs, expected none or halves");
  if (config.sharers < 1 || config.sharers > 8 || (config.sharers & (config.sharers - 1)) != 0)
    throw CompileError(fmt::format("gemv: sharers is {}, expected 1, 2, 4 or 8", config.sharers));
  if (config.summed && config.gated != Gated::none)
    throw CompileError("gemv: a gated product is summed over ranks, expected one without gates");
  if (config.together < 1 || config.together > 4)
    throw CompileError(fmt::format("gemv: together is {}, expected 1 to 4", config.together));
  if (config.together > 1 && (config.byElements || config.sharers > 1))
    throw CompileError(
        fmt::format("gemv: together is {}, expected 1 with by=elements or with several sharers",
                    config.together));
  if (config.byElements && config.m != 1)
    throw CompileError(fmt::format("gemv: m is {}, expected 1 with by=elements", config.m));
  Kernel kernel = Floats::dispatch(type, nameOf(config.format), [&]<class T> {
    if (config.format == WeightFormat::plain)
      return gemvOf<T, WeightFormat::plain>(config);
    if (config.format == WeightFormat::blocked)
      return gemvOf<T, WeightFormat::blocked>(config);
    return config.wide == Wide::no ? gemvOf<f32, i8, T, T, WeightFormat::q8_0>(config)
                                   : gemvOf<f32, i8, f32, f32, WeightFormat::q8_0>(config);
  });
  return config.residual == Residual::none ? kernel : kernel.inPlace("y", "residual");
}

//===-- Registry ------------------------------------------------------------------------------===//

static heuristics::GemvShape shapeOf(const Problem &problem, WeightFormat format) {
  return {problem["B"], rowsOf(problem, format), depthOf(problem, format),
          problem.type, problem.cores,           isPacked(format)};
}

/// A tile that has whole blocks.
static heuristics::GemvTile tileOf(const heuristics::GemvShape &shape, WeightFormat format,
                                   const DeviceTraits &target) {
  heuristics::GemvTile tile = heuristics::gemvTile(shape, target);
  if (format == WeightFormat::blocked)
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

/// The tile of products that are taken element by element, for what the configuration asks for.
static void retile(const Problem &problem, Config &config, WeightFormat format) {
  bool isExact = static_cast<Wide>(config["wide"]) == Wide::exact;
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
  config.set("by", tile.byElements);
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
  constexpr double kBytesOfBlock[] = {0, kBlock + 2, kBlock / 2 + 4};
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
  entry.name = nameOf(format);
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
  entry.retile = [](const Problem &problem, Config &config) { retile(problem, config, format); };
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
  entry.parameters.push_back({"blocks", "rows by terms of a block of W", {}, {"8x32"}, 0});
  entry.shape = {{"B", 1}, {"J", 512}, {"G", 128}};
  entry.benchShapes = {{{"B", 1}, {"J", 2048}, {"G", 128}}, {{"B", 8}, {"J", 2048}, {"G", 128}}};
  entry.testShapes = {{{"B", 1}, {"J", 1}, {"G", 1}},
                      {{"B", 1}, {"J", 17}, {"G", 3}},
                      {{"B", 3}, {"J", 9}, {"G", 67}},
                      {{"B", 5}, {"J", 9}, {"G", 5}}};
  entry.checkCases = {{{{"B", 3}, {"J", 2}, {"G", 2}}, "m=2,n=8,k=32"},
                      {{{"B", 3}, {"J", 3}, {"G", 2}}, "m=2,n=16,k=32,gated=halves,residual=yes"}};
  entry.variants = {"m=2,n=8,k=64,by=tiles,together=2", "m=2,n=16,k=32,by=tiles,rms=yes",
                    "m=1,n=8,k=64,by=elements", "wide=results,residual=yes,next=yes",
                    "gated=halves,rms=yes,residual=yes,wide=exact"};
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
