// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C = activation(scale * A * B + bias) + residual, of matrices and of batches of them.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/Epilogues.h"
#include "ditron/kernels/functions/Products.h"
#include "ditron/kernels/kernels.h"
#include <array>

namespace ditron::kernels {

//===-- Kernels -------------------------------------------------------------------------------===//

/// A signature with those arguments that the configuration names; the rest are absent.
static std::string signatureOf(const GemmConfig &cfg, const std::string &operands,
                               const std::string &result) {
  return operands + (cfg.bias ? ", bias[N]" : ", -") +
         (cfg.residual ? ", residual" + result : ", -") + (cfg.scale ? ", scale" : ", -") +
         ") -> C" + result;
}

/// activation(scale * sum + bias) + residual at a tile of C, of what there is.
template <class R, int rank>
static Tile finish(const GemmConfig &cfg, const Tile &sum,
                   const std::array<Index, size_t(rank)> &at, const std::optional<In<R, 1>> &bias,
                   const std::optional<In<R, rank>> &residual,
                   const std::optional<Scalar<f32>> &scale) {
  Var x = sum;
  if (scale)
    x *= *scale;
  if (bias)
    x += cast<f32>(bias->tiled(cfg.n)(at.back()));
  x = activate(cfg.activation, x);
  if (residual)
    x += cast<f32>(std::apply(residual->tiled(cfg.m, cfg.n), at));
  return x;
}

/// Tile (i, j) of the product.
template <class T>
static Tile sumAt(const GemmConfig &cfg, const Tiled<T, 2, 2, Access::read> &a, Index i,
                  const In<T> &B, Index j) {
  return cfg.transB ? productOfRows(a, i, B.tiled(cfg.n, cfg.k), j, cfg.accuracy)
                    : product(a, i, B.tiled(cfg.k, cfg.n), j, cfg.accuracy);
}

template <class T> static Kernel gemmOf(GemmConfig cfg) {
  using R = Product<T>;
  return {signatureOf(cfg, cfg.transB ? "gemm(A[M,K], B[N,K]" : "gemm(A[M,K], B[K,N]", "[M,N]"),
          [=](In<T> A, In<T> B, std::optional<In<R, 1>> bias, std::optional<In<R>> residual,
              std::optional<Scalar<f32>> scale, Out<R> C) {
            auto a = A.tiled(cfg.m, cfg.k);
            auto c = C.tiled(cfg.m, cfg.n);
            for (auto at : c.tiles(tileOrder(cfg))) {
              auto [i, j] = at;
              c(i, j) = cast<R>(finish(cfg, sumAt(cfg, a, i, B, j), at, bias, residual, scale));
            }
          }};
}

template <class T> static Kernel batchedGemmOf(GemmConfig cfg) {
  using R = Product<T>;
  return {signatureOf(cfg,
                      cfg.transB ? "batched-gemm(A[B,M,K], W[B,N,K]"
                                 : "batched-gemm(A[B,M,K], W[B,K,N]",
                      "[B,M,N]"),
          [=](In<T, 3> A, In<T, 3> W, std::optional<In<R, 1>> bias,
              std::optional<In<R, 3>> residual, std::optional<Scalar<f32>> scale, Out<R, 3> C) {
            auto a = A.tiled(cfg.m, cfg.k);
            auto w = cfg.transB ? W.tiled(cfg.n, cfg.k) : W.tiled(cfg.k, cfg.n);
            auto c = C.tiled(cfg.m, cfg.n);
            for (auto at : c.tiles(tileOrder(cfg))) {
              auto [b, i, j] = at;
              auto sum = cfg.transB ? productOfRows(a.at(b), i, w.at(b), j, cfg.accuracy)
                                    : product(a.at(b), i, w.at(b), j, cfg.accuracy);
              c(b, i, j) = cast<R>(finish(cfg, sum, at, bias, residual, scale));
            }
          }};
}

static void checkEpilogue(DType type, const GemmConfig &config, const char *kernel) {
  bool isPlain =
      !config.bias && !config.residual && !config.scale && config.activation == Activation::none;
  if (!isFloat(type) && !isPlain)
    throw CompileError(std::string(kernel) + ": a product of " + std::string(name(type)) +
                       " takes no bias, residual, scale or activation");
}

Kernel gemm(DType type, const GemmConfig &config) {
  checkEpilogue(type, config, "gemm");
  return DotTypes::dispatch(type, "gemm", [&]<class T> { return gemmOf<T>(config); });
}

Kernel batchedGemm(DType type, const GemmConfig &config) {
  checkEpilogue(type, config, "batched-gemm");
  return DotTypes::dispatch(type, "batched-gemm",
                            [&]<class T> { return batchedGemmOf<T>(config); });
}

//===-- Reference -----------------------------------------------------------------------------===//

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  // Row r of a batch of matrices is row r % M of matrix r / M.
  bool transB = run.config["transB"] != 0;
  int64_t K = run.problem["K"], N = run.problem["N"], matrix = row.row / run.problem["M"];
  auto accuracy = static_cast<Accuracy>(run.config["accuracy"]);
  auto activation = static_cast<Activation>(run.config["activation"]);
  size_t next = 2; // the arguments behind the operands are those that there are
  size_t bias = run.config["bias"] ? next++ : 0, residual = run.config["residual"] ? next++ : 0;
  double scale = run.config["scale"] ? run.inputs.scalar(next) : 1;
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    ReferenceSum sum = productWith(run.inputs, row.rank, row.row, K, accuracy, [&](int64_t k) {
      return transB ? run.inputs.at(row.rank, 1, matrix * N + column, k)
                    : run.inputs.at(row.rank, 1, matrix * K + k, column);
    });
    sum.scaleBy(scale);
    if (bias)
      sum.add(run.inputs.at(row.rank, bias, column));
    double more = residual ? run.inputs.at(row.rank, residual, row.row, column) : 0;
    result.push_back(expectedSum(sum, run.inputs.type(row.argument), activation, more));
  }
  return result;
}

//===-- Registry ------------------------------------------------------------------------------===//

static GemmConfig configOf(const Config &config) {
  return {pairedTile(config),
          config["transB"] != 0,
          config["bias"] != 0,
          static_cast<Activation>(config["activation"]),
          config["residual"] != 0,
          config["scale"] != 0,
          static_cast<Accuracy>(config["accuracy"])};
}

static heuristics::GemmNeeds needsOf(const Config &config) {
  auto activation = static_cast<Activation>(config["activation"]);
  return {.isFast = config["accuracy"] != 0,
          .isKMajor = config["transB"] != 0,
          .epilogue = {.scale = config["scale"] != 0,
                       .bias = config["bias"] != 0,
                       .residual = config["residual"] != 0,
                       .activation = activation != Activation::none,
                       .isErf = activation == Activation::gelu}};
}

static void retile(const Problem &problem, Config &config) {
  setTile(config,
          heuristics::gemmTile(gemmShape(problem, problem["M"]), problem.target, needsOf(config)));
}

static KernelEntry commonEntry() {
  KernelEntry entry;
  entry.dtypes = DotTypes::list();
  entry.parameters = gemmParameters();
  entry.parameters.push_back(pairsParameter());
  entry.parameters.push_back(
      {"transB", "B is given transposed, K-major: B[N,K]", {}, {"no", "yes"}});
  entry.parameters.push_back(accuracyParameter());
  entry.parameters.push_back({"scale", "multiplies the product by a scalar", {}, {"no", "yes"}});
  entry.parameters.push_back({"bias", "adds bias[N]", {}, {"no", "yes"}});
  entry.parameters.push_back(
      {"activation", "applied to the sum", {}, {"none", "relu", "silu", "gelu"}});
  entry.parameters.push_back({"residual", "adds residual of C's shape, last", {}, {"no", "yes"}});
  entry.scalars = {{"scale", 0.375}};
  entry.defaults = [](const Problem &problem) {
    PairedTile tile = heuristics::gemmTile(gemmShape(problem, problem["M"]), problem.target);
    return Config{{"m", tile.m},
                  {"n", tile.n},
                  {"k", tile.k},
                  {"group", tile.group},
                  {"pairs", static_cast<int64_t>(tile.pairs)},
                  {"transB", 0},
                  {"accuracy", 0},
                  {"scale", 0},
                  {"bias", 0},
                  {"activation", 0},
                  {"residual", 0}};
  };
  entry.retile = retile;
  entry.variants = {"m=10,n=9,k=20",
                    "transB=yes",
                    "transB=yes,m=10,n=9,k=20",
                    "accuracy=fast",
                    "transB=yes,accuracy=fast",
                    "bias=yes",
                    "bias=yes,activation=relu",
                    "activation=silu",
                    "activation=gelu",
                    "scale=yes",
                    "residual=yes",
                    "scale=yes,bias=yes,activation=silu,residual=yes"};
  entry.baseline = Baseline::gemm;
  entry.reference = reference;
  return entry;
}

KernelEntry gemmEntry() {
  KernelEntry entry = commonEntry();
  entry.name = "gemm";
  entry.summary = "C = activation(scale * A * B + bias) + residual";
  entry.make = [](DType type, const Config &config) { return gemm(type, configOf(config)); };
  entry.shape = {{"M", 512}, {"N", 512}, {"K", 512}};
  entry.testShapes = {{{"M", 1}, {"N", 1}, {"K", 1}},
                      {{"M", 64}, {"N", 48}, {"K", 96}},
                      {{"M", 67}, {"N", 71}, {"K", 131}},
                      {{"M", 1}, {"N", 130}, {"K", 37}}};
  entry.checkCases = {
      {{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4"},
      {{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4,scale=yes,bias=yes,residual=yes"}};
  entry.benchShapes = {{{"M", 512}, {"N", 512}, {"K", 512}},
                       {{"M", 1024}, {"N", 1024}, {"K", 1024}},
                       {{"M", 2048}, {"N", 2048}, {"K", 2048}},
                       {{"M", 2048}, {"N", 2752}, {"K", 4096}}};
  entry.flops = [](const Problem &p, const Config &) {
    return 2.0 * double(p["M"]) * double(p["N"]) * double(p["K"]);
  };
  return entry;
}

KernelEntry batchedGemmEntry() {
  KernelEntry entry = commonEntry();
  entry.name = "batched-gemm";
  entry.summary = "C[b] = activation(scale * A[b] * W[b] + bias) + residual[b]";
  entry.make = [](DType type, const Config &config) { return batchedGemm(type, configOf(config)); };
  entry.shape = {{"B", 8}, {"M", 256}, {"N", 256}, {"K", 256}};
  entry.testShapes = {{{"B", 1}, {"M", 1}, {"N", 1}, {"K", 1}},
                      {{"B", 3}, {"M", 65}, {"N", 31}, {"K", 67}}};
  entry.checkCases = {{{{"B", 2}, {"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4"}};
  entry.benchShapes = {{{"B", 16}, {"M", 512}, {"N", 512}, {"K", 512}}};
  entry.flops = [](const Problem &p, const Config &) {
    return 2.0 * double(p["B"]) * double(p["M"]) * double(p["N"]) * double(p["K"]);
  };
  entry.baseline = Baseline::none;
  return entry;
}

} // namespace ditron::kernels
