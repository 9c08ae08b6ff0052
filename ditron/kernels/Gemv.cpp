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
#include "ditron/kernels/kernels.h"
#include <cmath>
#include <fmt/format.h>

namespace ditron::kernels {

//===-- Kernel --------------------------------------------------------------------------------===//

static std::string signatureOf(const GemvConfig &cfg) {
  return fmt::format("gemv(x[B,K], W[{}N,K], {}, {}, {}) -> y[B,N]",
                     cfg.gated == Gated::none ? "" : "2*", cfg.rms ? "gain[K]" : "-",
                     cfg.rms ? "eps" : "-", cfg.residual ? "residual[B,N]" : "-");
}

/// The rows of W of the gates (0), or of what they gate (1).
template <class T>
static View<T, 2, Access::read> rowsOf(const GemvConfig &cfg, const In<T> &W, Index N, int which) {
  if (cfg.gated == Gated::pairs)
    return W.split(N).at(1, which);
  return W.slice(0, which * N, N);
}

/// The optional arguments, x being of X.
template <class X> struct GemvOptions {
  std::optional<In<X, 1>> gain;
  std::optional<Scalar<f32>> eps;
  std::optional<In<X>> residual;
};

/// Products of a tile of x and one of rows of W, and of the rows that give what is gated.
struct GemvSums {
  Tile first, second;
};

/// Those of tile (i, j) of y, x normalised where there is a gain.
template <class T, class X>
static GemvSums productsOf(const GemvConfig &cfg, const In<X> &x, const In<T> &W,
                           const GemvOptions<X> &options, Index N, Index i, Index j) {
  auto xs = x.tiled(cfg.m, cfg.k);
  auto first = rowsOf(cfg, W, N, 0).tiled(cfg.n, cfg.k);
  Var sum = zeros<f32>(cfg.m, cfg.n), other = zeros<f32>(cfg.m, cfg.n);
  Var squares = zeros<f32>(cfg.m, 1);
  for (auto k : range(xs.cols())) {
    auto read = Tile(xs(i, k));
    if (options.gain) {
      auto wide = cast<f32>(read);
      squares += ditron::sum(wide * wide, 1);
    }
    auto scaled = options.gain ? cast<f32>(read) * cast<f32>(options.gain->tiled(cfg.k)(k)) : read;
    auto factor = cast<T>(scaled);
    sum += dot(factor, transpose(first(j, k)));
    if (cfg.gated != Gated::none)
      other += dot(factor, transpose(rowsOf(cfg, W, N, 1).tiled(cfg.n, cfg.k)(j, k)));
  }
  if (!options.gain)
    return {sum, other};
  auto scale = rsqrt(squares / cast<f32>(toTile(x.cols())) + *options.eps);
  return {sum * scale, other * scale};
}

/// Products in T of x in X.
template <class T, class X> static Kernel gemvOf(GemvConfig cfg) {
  return {signatureOf(cfg),
          [=](In<X> x, In<T> W, std::optional<In<X, 1>> gain, std::optional<Scalar<f32>> eps,
              std::optional<In<X>> residual, Out<X> y) {
            GemvOptions<X> options{gain, eps, residual};
            auto ys = y.tiled(cfg.m, cfg.n);
            for (auto [i, j] : ys.tiles()) {
              auto [first, second] = productsOf(cfg, x, W, options, y.cols(), i, j);
              Var result = first;
              if (cfg.gated != Gated::none)
                result = first * sigmoid(first) * second;
              if (residual)
                result += cast<f32>(residual->tiled(cfg.m, cfg.n)(i, j));
              ys(i, j) = cast<X>(result);
            }
          }};
}

Kernel gemv(DType type, const GemvConfig &config) {
  Kernel kernel = Floats::dispatch(type, "gemv", [&]<class T> {
    return config.wide ? gemvOf<T, f32>(config) : gemvOf<T, T>(config);
  });
  return config.residual ? kernel.inPlace("y", "residual") : kernel;
}

//===-- Reference -----------------------------------------------------------------------------===//

static constexpr size_t kX = 0, kW = 1, kGain = 2;

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
    double eps = run.inputs.scalar(kGain + 1);
    scale_ = 1 / std::sqrt(squares.value / double(K_) + eps);
  }

  /// x times row `n` of W.
  ReferenceSum product(int64_t n) const {
    ReferenceSum sum;
    for (int64_t k = 0; k < K_; ++k) {
      double factor = run_.config["rms"] ? x(k) * run_.inputs.at(row_.rank, kGain, k) : x(k);
      double w = run_.inputs.at(row_.rank, kW, n, k);
      sum.addProduct(factor, w, roundTo(run_.problem.type, roundTo(DType::f32, factor)), w);
    }
    sum.scaleBy(scale_);
    return sum;
  }

private:
  double x(int64_t k) const { return run_.inputs.at(row_.rank, kX, row_.row, k); }

  const Case &run_;
  const OutputRow &row_;
  int64_t K_ = run_.problem["K"];
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

static Config defaults(const Problem &problem) {
  auto [m, n, k] = heuristics::gemvTile(
      {problem["B"], problem["N"], problem["K"], problem.type, problem.cores}, problem.target);
  return {{"m", m}, {"n", n}, {"k", k}, {"gated", 0}, {"rms", 0}, {"residual", 0}, {"wide", 0}};
}

static GemvConfig configOf(const Config &config) {
  return {config.get("m"),    config.get("n"),
          config.get("k"),    static_cast<Gated>(config["gated"]),
          config["rms"] != 0, config["residual"] != 0,
          config["wide"] != 0};
}

KernelEntry gemvEntry() {
  return {
      .name = "gemv",
      .summary = "y = x * W^T of few rows x, with what a decoder has around it",
      .dtypes = Floats::list(),
      .parameters = {{"m", "rows of a tile of y", {1, 2, 4, 8, 16, 32, 64}},
                     {"n", "columns of a tile of y, rows of W", {4, 8, 16, 32, 64, 128}},
                     {"k", "terms a step adds", {64, 128, 512, 1024, 2048, 4096, 8192, 16384}},
                     {"gated",
                      "y = silu(gate) * up, whose rows of W are two halves, or take turns",
                      {},
                      {"none", "halves", "pairs"},
                      0},
                     {"rms", "x is x / sqrt(mean(x * x) + eps) * gain", {}, {"no", "yes"}, 0},
                     {"residual", "adds residual[B,N]", {}, {"no", "yes"}, 0},
                     {"wide", "x, gain, residual and y are of f32", {}, {"no", "yes"}, 0}},
      .defaults = defaults,
      .make = [](DType type, const Config &config) { return gemv(type, configOf(config)); },
      .shape = {{"B", 1}, {"N", 4096}, {"K", 4096}},
      .testShapes = {{{"B", 1}, {"N", 1}, {"K", 1}},
                     {{"B", 1}, {"N", 130}, {"K", 37}},
                     {{"B", 3}, {"N", 67}, {"K", 2100}},
                     {{"B", 5}, {"N", 71}, {"K", 131}}},
      .benchShapes = {{{"B", 1}, {"N", 16384}, {"K", 4096}}, {{"B", 8}, {"N", 16384}, {"K", 4096}}},
      .checkCases = {{{{"B", 3}, {"N", 5}, {"K", 7}}, "m=2,n=2,k=4"},
                     {{{"B", 3}, {"N", 5}, {"K", 7}},
                      "m=2,n=2,k=4,gated=halves,rms=yes,residual=yes"},
                     {{{"B", 3}, {"N", 5}, {"K", 7}}, "m=2,n=2,k=4,gated=pairs"}},
      .scalars = {{"eps", 1e-5}},
      .variants = {"m=2,n=3,k=20", "m=2,n=8,k=16,rms=yes", "residual=yes", "gated=halves",
                   "gated=pairs", "wide=yes", "gated=halves,rms=yes,residual=yes,wide=yes"},
      .bytes =
          [](const Problem &p) {
            return double(byteSize(p.type)) * (double(p["N"]) * double(p["K"]));
          },
      .baseline = Baseline::read,
      .reference = reference,
  };
}

} // namespace ditron::kernels
