// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = x * W^T of few rows x, as a step of a decoder has them: W is read once, and that takes the
// time. What stands before and behind such a product in a decoder is done with it: the norm of x,
// the gate of a feed-forward layer, the residual.
#include "ditron/heuristics/RowTiles.h"
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/PackedWeights.h"
#include "ditron/kernels/kernels.h"
#include <cmath>
#include <fmt/format.h>
#include <type_traits>

namespace ditron::kernels {

//===-- Kernel --------------------------------------------------------------------------------===//

static std::string signatureOf(const GemvConfig &cfg) {
  std::string rows = cfg.gated == Gated::none ? "N" : "2*N";
  std::string depth = depthText(cfg.format);
  return fmt::format("{}(x[B,{}], {}, {}, {}, {}) -> y[B,N]",
                     cfg.format == WeightFormat::plain ? "gemv" : "packed-gemv", depth,
                     signatureOf(cfg.format, "W", rows), cfg.rms ? "gain[" + depth + "]" : "-",
                     cfg.rms ? "eps" : "-", cfg.residual ? "residual[B,N]" : "-");
}

/// Weights of W, or packed in i8.
template <class W> struct GemvWeights {
  In<W> rows;
  std::optional<In<f16>> scales, minima;
};

/// What x may be normalised with.
template <class X> struct GemvNorm {
  std::optional<In<X, 1>> gain;
  std::optional<Scalar<f32>> eps;
};

/// The rows of the gates (0) among 2 * N, or of what they gate (1).
template <class T>
static View<T, 2, Access::read> rowsOf(const GemvConfig &cfg, const In<T> &view, Index N,
                                       int which) {
  if (cfg.gated == Gated::pairs)
    return view.split(N).at(1, which);
  return view.slice(0, which * N, N);
}

/// Step `k` of tile `j` of those rows.
template <class W>
static Tile weightsOf(const GemvConfig &cfg, const GemvWeights<W> &weights, Index N, int which,
                      Index j, Index k) {
  if constexpr (std::is_same_v<W, i8>) {
    PackedViews views{
        rowsOf(cfg, weights.rows, N, which), rowsOf(cfg, *weights.scales, N, which), {}};
    if (weights.minima)
      views.minima = rowsOf(cfg, *weights.minima, N, which);
    return unpacked(views, cfg.format, cfg.n, cfg.k, j, k);
  } else {
    return rowsOf(cfg, weights.rows, N, which).tiled(cfg.n, cfg.k)(j, k);
  }
}

/// Products of a tile of x and one of rows of W, and of the rows that give what is gated.
struct GemvSums {
  Tile first, second;
};

/// Those of tile (i, j) of y, x normalised where there is a gain, multiplied in F.
template <class F, class W, class X>
static GemvSums productsOf(const GemvConfig &cfg, const In<X> &x, const GemvWeights<W> &weights,
                           const GemvNorm<X> &norm, Index N, Index i, Index j) {
  Var sum = zeros<f32>(cfg.m, cfg.n), other = zeros<f32>(cfg.m, cfg.n);
  Var squares = zeros<f32>(cfg.m, 1);
  for (auto k : range(ceilDiv(x.cols(), cfg.k))) {
    Tile read = x.tiled(cfg.m, cfg.k)(i, k);
    if (norm.gain) {
      auto wide = cast<f32>(read);
      squares += ditron::sum(wide * wide, 1);
    }
    auto scaled = norm.gain ? cast<f32>(read) * cast<f32>(norm.gain->tiled(cfg.k)(k)) : read;
    auto factor = cast<F>(scaled);
    auto rows = [&](int which) {
      Tile read = weightsOf(cfg, weights, N, which, j, k);
      return transpose(std::is_same_v<F, W> ? read : cast<F>(read));
    };
    sum += dot(factor, rows(0));
    if (cfg.gated != Gated::none)
      other += dot(factor, rows(1));
  }
  if (!norm.gain)
    return {sum, other};
  auto scale = rsqrt(squares / cast<f32>(toTile(x.cols())) + *norm.eps);
  return {sum * scale, other * scale};
}

/// The same of one row of x, element by element: a tile of a tensor core would be almost empty, and of
/// f32 there is none.
template <class F, class W, class X>
static GemvSums elementsOf(const GemvConfig &cfg, const In<X> &x, const GemvWeights<W> &weights,
                           const GemvNorm<X> &norm, Index N, Index i, Index j) {
  Var sums = zeros<f32>(cfg.n, cfg.k), others = zeros<f32>(cfg.n, cfg.k);
  Var squares = zeros<f32>(1, cfg.k);
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
  auto row = [&](const Tile &terms) { return reshape(ditron::sum(terms, 1), {1, cfg.n}); };
  if (!norm.gain)
    return {row(sums), row(others)};
  auto scale = rsqrt(ditron::sum(squares, 1) / cast<f32>(toTile(x.cols())) + *norm.eps);
  return {row(sums) * scale, row(others) * scale};
}

/// Products in F of x in X and weights in W, as results in Y.
template <class F, class W, class X, class Y = X> static Kernel gemvOf(GemvConfig cfg) {
  return {signatureOf(cfg),
          [=](In<X> x, In<W> rows, std::optional<In<f16>> scales, std::optional<In<f16>> minima,
              std::optional<In<X, 1>> gain, std::optional<Scalar<f32>> eps,
              std::optional<In<Y>> residual, Out<Y> y) {
            GemvWeights<W> weights{rows, scales, minima};
            GemvNorm<X> norm{gain, eps};
            auto ys = y.tiled(cfg.m, cfg.n);
            for (auto [i, j] : ys.tiles()) {
              auto [first, second] = cfg.byElements
                                         ? elementsOf<F>(cfg, x, weights, norm, y.cols(), i, j)
                                         : productsOf<F>(cfg, x, weights, norm, y.cols(), i, j);
              Var result = first;
              if (cfg.gated != Gated::none)
                result = first * sigmoid(first) * second;
              if (residual)
                result += cast<f32>(residual->tiled(cfg.m, cfg.n)(i, j));
              ys(i, j) = cast<Y>(result);
            }
          }};
}

Kernel gemv(DType type, const GemvConfig &config) {
  checkBlocks(config.format, config.k, "gemv");
  if (config.byElements && config.m != 1)
    throw CompileError(fmt::format("gemv: m is {}, expected 1 with by=elements", config.m));
  Kernel kernel = Floats::dispatch(type, "gemv", [&]<class T> {
    if (config.format != WeightFormat::plain)
      return config.wide == Wide::no ? gemvOf<f32, i8, T>(config) : gemvOf<f32, i8, f32>(config);
    if (config.wide == Wide::exact)
      return gemvOf<f32, T, f32>(config);
    if (config.wide == Wide::results)
      return gemvOf<T, T, T, f32>(config);
    return config.wide == Wide::yes ? gemvOf<T, T, f32>(config) : gemvOf<T, T, T>(config);
  });
  return config.residual ? kernel.inPlace("y", "residual") : kernel;
}

//===-- Reference -----------------------------------------------------------------------------===//

static constexpr size_t kX = 0, kW = 1;

static WeightFormat formatOf(const Config &config) {
  int64_t packed = config.valueOr("format", -1); // which is none of plain ones
  return static_cast<WeightFormat>(packed + 1);
}

namespace {

/// One row of y.
class Row {
public:
  Row(const Case &run, const OutputRow &row) : run_(run), row_(row) {
    if (!run.config["rms"])
      return;
    ReferenceSum squares;
    for (int64_t k = 0; k < K_; ++k)
      squares.addProduct(x(k), x(k));
    double eps = run.inputs.scalar(gain_ + 1);
    scale_ = 1 / std::sqrt(squares.value / double(K_) + eps);
  }

  /// x times row `n` of W.
  ReferenceSum product(int64_t n) const {
    ReferenceSum sum;
    bool isRounded = format_ == WeightFormat::plain && run_.config["wide"] != int64_t(Wide::exact);
    DType type = isRounded ? run_.problem.type : DType::f32;
    for (int64_t k = 0; k < K_; ++k) {
      double factor = run_.config["rms"] ? x(k) * run_.inputs.at(row_.rank, gain_, k) : x(k);
      double w = weightAt(run_.inputs, format_, row_.rank, kW, n, k);
      sum.addProduct(factor, w, roundTo(type, roundTo(DType::f32, factor)), w);
    }
    if (format_ != WeightFormat::plain) // which are rounded
      sum.magnitude *= 2;
    sum.scaleBy(scale_);
    return sum;
  }

private:
  double x(int64_t k) const { return run_.inputs.at(row_.rank, kX, row_.row, k); }

  const Case &run_;
  const OutputRow &row_;
  WeightFormat format_ = formatOf(run_.config);
  int64_t K_ = depthOf(run_.problem, format_);
  size_t gain_ = kW + moreArgumentsOf(format_) + 1; ///< an argument
  double scale_ = 1;
};

} // namespace

/// silu(gate) * up.
static ReferenceSum gatedSum(const ReferenceSum &gate, const ReferenceSum &up) {
  auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  ReferenceSum result;
  result.value = silu(gate.value) * up.value;
  result.plain = static_cast<float>(silu(gate.plain)) * up.plain;
  // The slope of silu is below 1.13.
  result.magnitude =
      2 * (gate.magnitude * std::abs(up.value) + std::abs(silu(gate.value)) * up.magnitude);
  result.terms = gate.terms;
  return result;
}

static double input(const Problem &, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  bool isPacked = inputs.type(argument) == DType::i8;
  return isPacked ? packedInput(inputs, rank, argument, element)
                  : inputs.standard(rank, argument, element);
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  Row ofX(run, row);
  int64_t N = run.problem["N"];
  auto gated = static_cast<Gated>(run.config["gated"]);
  size_t residual = row.argument - 1;
  std::vector<Expected> result;
  for (int64_t n : row.columns) {
    ReferenceSum sum;
    if (gated == Gated::none)
      sum = ofX.product(n);
    else if (gated == Gated::pairs)
      sum = gatedSum(ofX.product(2 * n), ofX.product(2 * n + 1));
    else
      sum = gatedSum(ofX.product(n), ofX.product(N + n));
    double added = run.config["residual"] ? run.inputs.at(row.rank, residual, row.row, n) : 0;
    result.push_back(expectedSum(sum, run.inputs.type(row.argument), Activation::none, added));
  }
  return result;
}

//===-- Registry ------------------------------------------------------------------------------===//

static heuristics::GemvShape shapeOf(const Problem &problem, WeightFormat format) {
  return {problem["B"], problem["N"],  depthOf(problem, format),
          problem.type, problem.cores, format != WeightFormat::plain};
}

static Config defaults(const Problem &problem, WeightFormat format) {
  auto [m, n, k, byElements] = heuristics::gemvTile(shapeOf(problem, format), problem.target);
  return {{"m", m},   {"n", n},        {"k", k},          {"gated", 0},
          {"rms", 0}, {"residual", 0}, {"by", byElements}};
}

/// The tile of products that are taken element by element, for what the configuration asks for.
static void retile(const Problem &problem, Config &config) {
  bool isExact = static_cast<Wide>(config["wide"]) == Wide::exact;
  if (!isExact && !config["rows"])
    return;
  heuristics::GemvShape shape = shapeOf(problem, WeightFormat::plain);
  shape.isExact = isExact;
  shape.isGated = config["gated"] != 0;
  shape.isLong = config["rows"] != 0;
  shape.isNormed = config["rms"] != 0;
  auto [m, n, k, byElements] = heuristics::gemvTile(shape, problem.target);
  config.set("m", m);
  config.set("n", n);
  config.set("k", k);
  config.set("by", byElements);
}

static GemvConfig configOf(const Config &config) {
  return {config.get("m"),    config.get("n"),
          config.get("k"),    static_cast<Gated>(config["gated"]),
          config["rms"] != 0, config["residual"] != 0,
          config["by"] != 0,  static_cast<Wide>(config.valueOr("wide", 0)),
          formatOf(config)};
}

/// Those of the weights, with their scales.
static double bytes(const Problem &problem, const Config &config) {
  double rows = double(problem["N"]) * (config["gated"] ? 2 : 1);
  constexpr double kBytesOfBlock[] = {0, kBlock + 2, kBlock / 2 + 4};
  WeightFormat format = formatOf(config);
  double each = format == WeightFormat::plain ? double(byteSize(problem.type))
                                              : kBytesOfBlock[int(format)] / kBlock;
  return rows * double(depthOf(problem, format)) * each;
}

/// What products by both kinds of weights have.
static KernelEntry commonEntry() {
  KernelEntry entry;
  entry.dtypes = Floats::list();
  entry.parameters = {{"m", "rows of a tile of y", {1, 2, 4, 8, 16, 32, 64}},
                      {"n", "columns of a tile of y, rows of W", {4, 8, 16, 32, 64, 128}},
                      {"k", "terms a step adds", {64, 128, 512, 1024, 2048, 4096, 8192, 16384}},
                      {"gated",
                       "y = silu(gate) * up, whose rows of W are two halves, or take turns",
                       {},
                       {"none", "halves", "pairs"},
                       0},
                      {"rms", "x is x / sqrt(mean(x * x) + eps) * gain", {}, {"no", "yes"}, 0},
                      {"residual", "adds residual[B,N]", {}, {"no", "yes"}, 0},
                      {"by", "how rows are multiplied", {}, {"tiles", "elements"}, 0}};
  entry.make = [](DType type, const Config &config) { return gemv(type, configOf(config)); };
  entry.scalars = {{"eps", 1e-5}};
  entry.bytesOfVariant = bytes;
  entry.baseline = Baseline::read;
  entry.input = input;
  entry.reference = reference;
  return entry;
}

KernelEntry gemvEntry() {
  KernelEntry entry = commonEntry();
  entry.name = "gemv";
  entry.summary = "y = x * W^T of few rows x, with what a decoder has around it";
  entry.parameters.push_back({"wide",
                              "x, gain, residual and y are of f32; exact: products too; "
                              "results: residual and y",
                              {},
                              {"no", "yes", "exact", "results"},
                              0});
  entry.parameters.push_back({"rows",
                              "parts of rows of W: long ones, of one row x, stream through a "
                              "megakernel on GPUs",
                              {},
                              {"usual", "long"},
                              0});
  entry.defaults = [](const Problem &problem) {
    Config config = defaults(problem, WeightFormat::plain);
    config.add({"wide", 0});
    config.add({"rows", 0});
    return config;
  };
  entry.retile = retile;
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
      {{{"B", 3}, {"N", 5}, {"K", 7}}, "m=2,n=2,k=4,gated=pairs"}};
  entry.variants = {"m=2,n=3,k=20,by=tiles",
                    "m=2,n=8,k=16,by=tiles,rms=yes",
                    "residual=yes",
                    "gated=halves",
                    "gated=pairs",
                    "wide=yes",
                    "gated=halves,rms=yes,residual=yes,wide=yes",
                    "gated=halves,rms=yes,residual=yes,wide=exact",
                    "m=1,n=4,k=20,by=elements,wide=exact",
                    "residual=yes,wide=results",
                    "m=1,n=3,k=20,by=elements,gated=halves,rms=yes,residual=yes"};
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
  entry.variants = {"m=2,n=3,k=64,by=tiles", "m=1,k=64,gated=pairs", "format=q4-1",
                    "m=1,n=2,k=64,by=elements",
                    "k=96,format=q4-1,gated=halves,rms=yes,residual=yes"};
  return entry;
}

} // namespace ditron::kernels
