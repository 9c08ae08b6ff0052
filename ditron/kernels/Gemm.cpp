// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C = activation(A * B + bias), of matrices and of batches of them.
#include "ditron/kernels/Parts.h"

namespace ditron::kernels {

//===-- Kernels -------------------------------------------------------------------------------===//

template <class T> static Kernel gemmOf(GemmConfig cfg) {
  using R = Product<T>;
  if (cfg.bias)
    return {
        "gemm(A[M,K], B[K,N], bias[N]) -> C[M,N]", [=](In<T> A, In<T> B, In<R, 1> bias, Out<R> C) {
          auto a = A.tiled(cfg.m, cfg.k), b = B.tiled(cfg.k, cfg.n);
          auto c = C.tiled(cfg.m, cfg.n);
          auto biases = bias.tiled(cfg.n);
          for (auto [i, j] : c.tiles(order::grouped(cfg.group)))
            c(i, j) = cast<R>(activate(cfg.activation, product(a, i, b, j) + cast<f32>(biases(j))));
        }};
  return {"gemm(A[M,K], B[K,N]) -> C[M,N]", [=](In<T> A, In<T> B, Out<R> C) {
            auto a = A.tiled(cfg.m, cfg.k), b = B.tiled(cfg.k, cfg.n);
            auto c = C.tiled(cfg.m, cfg.n);
            for (auto [i, j] : c.tiles(order::grouped(cfg.group)))
              c(i, j) = cast<R>(activate(cfg.activation, product(a, i, b, j)));
          }};
}

template <class T> static Kernel batchedGemmOf(GemmConfig cfg) {
  using R = Product<T>;
  if (cfg.bias)
    return {"batched-gemm(A[B,M,K], W[B,K,N], bias[N]) -> C[B,M,N]",
            [=](In<T, 3> A, In<T, 3> W, In<R, 1> bias, Out<R, 3> C) {
              auto a = A.tiled(cfg.m, cfg.k), w = W.tiled(cfg.k, cfg.n);
              auto c = C.tiled(cfg.m, cfg.n);
              auto biases = bias.tiled(cfg.n);
              for (auto [b, i, j] : c.tiles(order::grouped(cfg.group)))
                c(b, i, j) = cast<R>(activate(cfg.activation, product(a.at(b), i, w.at(b), j) +
                                                                  cast<f32>(biases(j))));
            }};
  return {"batched-gemm(A[B,M,K], W[B,K,N]) -> C[B,M,N]", [=](In<T, 3> A, In<T, 3> W, Out<R, 3> C) {
            auto a = A.tiled(cfg.m, cfg.k), w = W.tiled(cfg.k, cfg.n);
            auto c = C.tiled(cfg.m, cfg.n);
            for (auto [b, i, j] : c.tiles(order::grouped(cfg.group)))
              c(b, i, j) = cast<R>(activate(cfg.activation, product(a.at(b), i, w.at(b), j)));
          }};
}

static void checkEpilogue(DType type, const GemmConfig &config, const char *kernel) {
  if (!isFloat(type) && (config.bias || config.activation != Activation::none))
    throw CompileError(std::string(kernel) + ": a product of " + std::string(name(type)) +
                       " takes neither bias nor activation");
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
  int64_t K = run.problem["K"], firstOfB = row.row / run.problem["M"] * K;
  auto activation = static_cast<Activation>(run.config["activation"]);
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    ReferenceSum sum = productOf(run.inputs, row.rank, row.row, firstOfB, column, K);
    if (run.config["bias"])
      sum.add(run.inputs.at(row.rank, 2, column));
    result.push_back(expectedSum(sum, run.inputs.type(row.argument), activation));
  }
  return result;
}

//===-- Registry ------------------------------------------------------------------------------===//

static GemmConfig configOf(const Config &config) {
  return {config.get("m"),     config.get("n"),     config.get("k"),
          config.get("group"), config["bias"] != 0, static_cast<Activation>(config["activation"])};
}

static KernelEntry commonEntry() {
  KernelEntry entry;
  entry.dtypes = DotTypes::list();
  entry.parameters = gemmParameters();
  entry.parameters.push_back({"bias", "adds bias[N]", {}, {"no", "yes"}});
  entry.parameters.push_back(
      {"activation", "applied to the sum", {}, {"none", "relu", "silu", "gelu"}});
  entry.defaults = [](const Problem &problem) {
    GemmConfig tile = gemmTile(problem, problem["M"]);
    return Config{{"m", tile.m},         {"n", tile.n}, {"k", tile.k},
                  {"group", tile.group}, {"bias", 0},   {"activation", 0}};
  };
  entry.variants = {"m=10,n=9,k=20", "bias=yes", "bias=yes,activation=relu", "activation=silu",
                    "activation=gelu"};
  entry.baseline = Baseline::gemm;
  entry.reference = reference;
  return entry;
}

KernelEntry gemmEntry() {
  KernelEntry entry = commonEntry();
  entry.name = "gemm";
  entry.summary = "C = activation(A * B + bias)";
  entry.make = [](DType type, const Config &config) { return gemm(type, configOf(config)); };
  entry.shape = {{"M", 512}, {"N", 512}, {"K", 512}};
  entry.testShapes = {{{"M", 1}, {"N", 1}, {"K", 1}},
                      {{"M", 64}, {"N", 48}, {"K", 96}},
                      {{"M", 67}, {"N", 71}, {"K", 131}},
                      {{"M", 1}, {"N", 130}, {"K", 37}}};
  entry.checkCases = {{{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4"}};
  entry.benchShapes = {{{"M", 512}, {"N", 512}, {"K", 512}},
                       {{"M", 1024}, {"N", 1024}, {"K", 1024}},
                       {{"M", 2048}, {"N", 2048}, {"K", 2048}},
                       {{"M", 2048}, {"N", 2752}, {"K", 4096}}};
  entry.flops = [](const Problem &p) {
    return 2.0 * double(p["M"]) * double(p["N"]) * double(p["K"]);
  };
  return entry;
}

KernelEntry batchedGemmEntry() {
  KernelEntry entry = commonEntry();
  entry.name = "batched-gemm";
  entry.summary = "C[b] = activation(A[b] * W[b] + bias)";
  entry.make = [](DType type, const Config &config) { return batchedGemm(type, configOf(config)); };
  entry.shape = {{"B", 8}, {"M", 256}, {"N", 256}, {"K", 256}};
  entry.testShapes = {{{"B", 1}, {"M", 1}, {"N", 1}, {"K", 1}},
                      {{"B", 3}, {"M", 65}, {"N", 31}, {"K", 67}}};
  entry.checkCases = {{{{"B", 2}, {"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4"}};
  entry.benchShapes = {{{"B", 16}, {"M", 512}, {"N", 512}, {"K", 512}}};
  entry.flops = [](const Problem &p) {
    return 2.0 * double(p["B"]) * double(p["M"]) * double(p["N"]) * double(p["K"]);
  };
  entry.baseline = Baseline::none;
  return entry;
}

} // namespace ditron::kernels
