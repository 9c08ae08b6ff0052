// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of experts: each rank has the weights of some groups, and rows go to the rank that has their
// group. It is grouped-gemm of one device with its rows exchanged by counts.
#include "ditron/heuristics/Communication.h"
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/kernels.h"
#include "ditron/lang/Distribute.h"
#include <algorithm>
#include <cmath>

namespace ditron::kernels {

KernelEntry groupedGemmEntry();

Kernel expertGemm(DType type, const ExpertGemmConfig &config) {
  return distribute("expert-gemm", groupedGemm(type, config),
                    {{"A", exchanged("counts").cores(config.commCores)}});
}

//===-- Reference -----------------------------------------------------------------------------===//

static constexpr size_t kCounts = 2;

/// Where a rank's rows are cut before group `g` of all ranks: each cut lies in a part of its own of as
/// many equal ones, now and then at its edge.
static double cutBefore(const Problem &problem, const Inputs &inputs, int64_t rank, int64_t g) {
  int64_t groups = problem["G"] * problem.ranks, taken = problem["T"] - problem["T"] / 64;
  if (g == 0 || g == groups)
    return g == 0 ? 0 : double(taken);
  double place = std::clamp(2 * inputs.uniform(rank, kCounts, g) - 0.5, 0.0, 1.0);
  return std::round((double(g - 1) + place) / double(groups - 1) * double(taken));
}

/// Groups of uneven sizes, some of them empty, and some rows in none.
static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  if (argument != kCounts)
    return inputs.standard(rank, argument, element);
  return cutBefore(problem, inputs, rank, element + 1) - cutBefore(problem, inputs, rank, element);
}

/// Where a row of a rank's output comes from; none behind the last one.
struct Origin {
  int64_t rank, row, group;
};
static std::optional<Origin> originOf(const Case &run, int64_t owner, int64_t row) {
  int64_t groups = run.problem["G"];
  auto count = [&](int64_t rank, int64_t slot) {
    return static_cast<int64_t>(run.inputs.at(rank, kCounts, slot));
  };
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t rank = 0; rank < run.problem.ranks; ++rank) {
      int64_t slot = owner * groups + group, rows = count(rank, slot);
      if (row >= rows) {
        row -= rows;
        continue;
      }
      for (int64_t before = 0; before < slot; ++before)
        row += count(rank, before);
      return Origin{rank, row, group};
    }
  return std::nullopt;
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  int64_t K = run.problem["K"], N = run.problem["N"];
  std::optional<Origin> from = originOf(run, row.rank, row.row);
  std::vector<Expected> result;
  for (int64_t column : row.columns) {
    if (!from) {
      result.push_back(Expected::undefined());
      continue;
    }
    ReferenceSum sum;
    for (int64_t k = 0; k < K; ++k)
      sum.addProduct(run.inputs.at(from->rank, 0, from->row, k),
                     run.inputs.at(row.rank, 1, from->group * N + column, k));
    result.push_back(expectedSum(sum, run.inputs.type(row.argument)));
  }
  return result;
}

//===-- Registry ------------------------------------------------------------------------------===//

static Config defaults(const Problem &problem) {
  Config config = groupedGemmEntry().defaults(problem);
  config.add({"comm", heuristics::communicatingCores(problem.cores, problem.target)});
  return config;
}

KernelEntry expertGemmEntry() {
  KernelEntry entry = groupedGemmEntry();
  entry.name = "expert-gemm";
  entry.summary = "rows to the ranks that have their groups, C = A * W[g]^T there";
  entry.isDistributed = true;
  entry.parameters.push_back(
      {"comm", "cores that move rows (0: all do, before they compute)", {0, 8, 16, 32}, {}, 0});
  entry.defaults = defaults;
  entry.make = [](DType type, const Config &config) {
    return expertGemm(type, {gemmTile(config), config.get("comm")});
  };
  entry.testShapes = {{{"T", 1}, {"G", 1}, {"N", 1}, {"K", 1}},
                      {{"T", 23}, {"G", 3}, {"N", 7}, {"K", 3}},
                      {{"T", 97}, {"G", 2}, {"N", 64}, {"K", 33}}};
  entry.benchShapes = {{{"T", 4096}, {"G", 8}, {"N", 1408}, {"K", 2048}}};
  entry.checkCases = {{{{"T", 9}, {"G", 2}, {"N", 5}, {"K", 3}}, "m=2,n=4,k=4,comm=1"},
                      {{{"T", 9}, {"G", 2}, {"N", 5}, {"K", 3}}, "m=2,n=4,k=4,comm=0"}};
  entry.variants = {"m=10,n=9,k=20,comm=1", "m=1,n=16,k=8,comm=0"};
  entry.baseline = Baseline::none;
  entry.input = input;
  entry.reference = reference;
  return entry;
}

} // namespace ditron::kernels
