// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The product of every rank's rows of A with this rank's B. Copy engines, or some of the cores, send
// the own rows to the other ranks, and the cores multiply rows as they arrive, the own ones first.
#include "ditron/kernels/FusedGemm.h"
#include "ditron/kernels/OverlapProblem.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/Products.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

template <class T> static Kernel byCopyEngines(FusedGemmConfig cfg) {
  using Y = Product<T>;
  return {"ag-gemm(A[M,K], B[K,N]) -> C[R*M,N]", [=](In<T> A, In<T> B, Out<Y> C) {
            auto [m, n, k, group] = cfg.tile;
            auto full = symmetric<T>({numRanks(), A.rows(), A.cols()}, "full");
            auto b = B.tiled(k, n);
            auto c = C.split(numRanks()).tiled(m, n);
            auto arrived = signals({numRanks()}, "arrived");

            copyEngines().run("gather", [&] {
              for (auto peer : peers()) {
                put(A, full.on(peer).at(rank()));
                notify(arrived.on(peer)(rank()));
              }
            });
            for (auto [s, i, j] : c.tiles(order::ownShardFirstGrouped(group))) {
              auto isOwn = s == rank();
              wait(arrived(s), select(isOwn, 0, 1));
              auto a = choose(isOwn, A, full.at(s)).tiled(m, k);
              c(s, i, j) = cast<Y>(product(a, i, b, j));
            }
          }};
}

template <class T> static Kernel byCores(FusedGemmConfig cfg) {
  using Y = Product<T>;
  return {"ag-gemm(A[M,K], B[K,N]) -> C[R*M,N]", [=](In<T> A, In<T> B, Out<Y> C) {
            auto [m, n, k, group] = cfg.tile;
            auto full = symmetric<T>({numRanks(), A.rows(), A.cols()}, "full");
            auto a = full.tiled(m, k);
            auto b = B.tiled(k, n);
            auto c = C.split(numRanks()).tiled(m, n);
            auto mine = A.tiled(m, kChunkColumns);
            auto ready = signals({numRanks(), mine.rows()}, "ready");
            auto [comm, compute] = splitRoles(cfg.commCores);

            comm.run("gather", [&] {
              for (auto peer : ranks())
                for (auto [i, part] : mine.tiles()) {
                  put(mine(i, part), full.on(peer).tiled(m, kChunkColumns)(rank(), i, part));
                  notify(ready.on(peer)(rank(), i));
                }
            });
            compute.run("multiply", [&] {
              for (auto [s, i, j] : c.tiles(order::ownShardFirstGrouped(group))) {
                wait(ready(s, i), mine.cols());
                c(s, i, j) = cast<Y>(product(a.at(s), i, b, j));
              }
            });
          }};
}

Kernel allGatherGemm(DType type, const FusedGemmConfig &config) {
  return DotTypes::dispatch(type, "ag-gemm", [&]<class T> {
    return config.copyEngines ? byCopyEngines<T>(config) : byCores<T>(config);
  });
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  int64_t M = run.problem["M"];
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    // The row of A is another rank's, B is this rank's.
    ReferenceSum sum;
    for (int64_t k = 0; k < run.problem["K"]; ++k)
      sum.addProduct(run.inputs.at(row.row / M, 0, row.row % M, k),
                     run.inputs.at(row.rank, 1, k, column));
    result.push_back(expectedSum(sum, run.inputs.type(row.argument)));
  }
  return result;
}

static std::vector<ConfigParameter> parameters() {
  std::vector<ConfigParameter> parameters = fusedParameters();
  parameters.push_back({"engine", "what moves data", {}, {"cores", "copy"}});
  return parameters;
}

static std::vector<CheckCase> checkCases() {
  std::vector<CheckCase> cases = fusedCheckCases();
  cases.push_back({{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4,group=1,engine=copy"});
  return cases;
}

static Config defaults(const Problem &problem) {
  using Engine = heuristics::OverlapChoice::Engine;
  Config config = fusedDefaults(problem, problem["M"]);
  if (!problem.target.isGpu()) {
    config.add({"engine", 0});
    return config;
  }
  auto exchange = overlapProblem(problem, heuristics::Exchange::gather, config, problem.type);
  auto choice = heuristics::chooseOverlapped(exchange, problem.calibration);
  config.add({"engine", choice.engine == Engine::copy ? 1 : 0});
  if (choice.engine == Engine::core)
    config.set("comm", choice.commCores);
  return config;
}

KernelEntry allGatherGemmEntry() {
  return {
      .name = "ag-gemm",
      .summary = "all-gather of A's rows, overlapped with their product with B",
      .dtypes = DotTypes::list(),
      .isDistributed = true,
      .parameters = parameters(),
      .defaults = defaults,
      .make = [](DType type,
                 const Config &config) { return allGatherGemm(type, fusedConfig(config)); },
      .shape = {{"M", 256}, {"N", 512}, {"K", 512}},
      .testShapes = fusedTestShapes(),
      .benchShapes = {{{"M", 512}, {"N", 688}, {"K", 1024}},
                      {{"M", 2048}, {"N", 2752}, {"K", 4096}}},
      .checkCases = checkCases(),
      .variants = {"m=8,n=16,k=32", "m=8,n=16,k=32,comm=1", "m=8,n=16,k=32,engine=copy"},
      .flops = [](const Problem &p,
                  const Config &) { return 2.0 * p["R"] * p["M"] * p["N"] * p["K"]; },
      .baseline = Baseline::gatherThenGemm,
      .reference = reference,
  };
}

} // namespace ditron::kernels
