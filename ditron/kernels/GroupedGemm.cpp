// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C = A * W[g]^T, rows of A in groups g that are known only when the kernel runs: the experts of a
// mixture. Every core finds its tiles by walking the counts.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/Products.h"
#include "ditron/kernels/functions/RaggedBlocks.h"
#include "ditron/kernels/kernels.h"
#include <cmath>

namespace ditron::kernels {

template <class T> static Kernel groupedGemmOf(GemmTile cfg) {
  using R = Product<T>;
  return {"grouped-gemm(A[T,K], W[G,N,K], counts[G]) -> C[T,N]",
          [=](In<T> A, In<T, 3> W, In<i32, 1> counts, Out<R> C) {
            auto rowsOf = [&](Index g) { return Tile(counts.read({g})); };
            Index groups = counts.size(), blocks = mostBlocks(A.rows(), groups, cfg.m);
            Index columns = ceilDiv(C.cols(), cfg.n);
            for (auto [number, j] : grid({blocks, columns}, order::grouped(cfg.group))) {
              auto [g, first, i] = findBlock(number, groups, cfg.m, rowsOf);
              when(g < groups, [&] {
                Index rows = toIndex(rowsOf(g));
                auto a = A.slice(0, first, rows).tiled(cfg.m, cfg.k);
                auto w = W.at(g).tiled(cfg.n, cfg.k);
                auto c = C.slice(0, first, rows).tiled(cfg.m, cfg.n);
                c(i, j) = cast<R>(productOfRows(a, i, w, j));
              });
            }
          }};
}

Kernel groupedGemm(DType type, const GemmTile &tile) {
  return DotTypes::dispatch(type, "grouped-gemm", [&]<class T> { return groupedGemmOf<T>(tile); });
}

//===-- Reference -----------------------------------------------------------------------------===//

static constexpr size_t kCounts = 2;

static double rowsInGroups(const Problem &problem) {
  return double(problem["T"] - problem["T"] / 64);
}

/// Groups of uneven sizes, some of them empty, and some rows in none: the others cut by squared
/// random shares.
static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  if (argument != kCounts)
    return inputs.standard(rank, argument, element);
  auto share = [&](int64_t g) {
    double x = inputs.uniform(rank, argument, g);
    return x < 0.125 ? 0 : x * x;
  };
  double before = 0, all = 1e-9;
  for (int64_t g = 0; g < problem["G"]; ++g) {
    before += g < element ? share(g) : 0;
    all += share(g);
  }
  double taken = rowsInGroups(problem);
  auto cut = [&](double part) { return std::round(part / all * taken); };
  return cut(before + share(element)) - cut(before);
}

/// The group of a row of A, which is G behind the last one.
static int64_t groupOf(const Case &run, int64_t rank, int64_t row) {
  int64_t group = 0, groups = run.problem["G"], end = 0;
  for (; group < groups; ++group) {
    end += static_cast<int64_t>(run.inputs.at(rank, kCounts, group));
    if (row < end)
      break;
  }
  return group;
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  int64_t K = run.problem["K"], N = run.problem["N"], group = groupOf(run, row.rank, row.row);
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    ReferenceSum sum;
    for (int64_t k = 0; group < run.problem["G"] && k < K; ++k)
      sum.addProduct(run.inputs.at(row.rank, 0, row.row, k),
                     run.inputs.at(row.rank, 1, group * N + column, k));
    result.push_back(group < run.problem["G"] ? expectedSum(sum, run.inputs.type(row.argument))
                                              : Expected::undefined());
  }
  return result;
}

//===-- Registry ------------------------------------------------------------------------------===//

KernelEntry groupedGemmEntry() {
  KernelEntry entry;
  entry.name = "grouped-gemm";
  entry.summary = "C = A * W[g]^T by groups of rows, counts at run time";
  entry.dtypes = DotTypes::list();
  entry.parameters = gemmParameters();
  entry.defaults = [](const Problem &problem) {
    GemmTile tile =
        heuristics::groupedGemmTile(gemmShape(problem, problem["T"]), problem["G"], problem.target);
    return Config{{"m", tile.m}, {"n", tile.n}, {"k", tile.k}, {"group", tile.group}};
  };
  entry.make = [](DType type, const Config &config) { return groupedGemm(type, gemmTile(config)); };
  entry.shape = {{"T", 1024}, {"G", 8}, {"N", 256}, {"K", 256}};
  entry.testShapes = {{{"T", 1}, {"G", 1}, {"N", 1}, {"K", 1}},
                      {{"T", 5}, {"G", 13}, {"N", 7}, {"K", 3}},
                      {{"T", 97}, {"G", 4}, {"N", 64}, {"K", 33}},
                      {{"T", 131}, {"G", 5}, {"N", 37}, {"K", 67}}};
  entry.benchShapes = {{{"T", 4096}, {"G", 16}, {"N", 1408}, {"K", 2048}}};
  entry.checkCases = {{{{"T", 11}, {"G", 3}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4"}};
  entry.variants = {"m=10,n=9,k=20", "m=1,n=16,k=8"};
  entry.flops = [](const Problem &p, const Config &) {
    return 2.0 * rowsInGroups(p) * double(p["N"]) * double(p["K"]);
  };
  entry.baseline = Baseline::groupedGemm;
  entry.input = input;
  entry.reference = reference;
  return entry;
}

} // namespace ditron::kernels
