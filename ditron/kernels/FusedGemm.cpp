// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/FusedGemm.h"
#include "ditron/heuristics/Communication.h"
#include "ditron/kernels/Parameters.h"

namespace ditron::kernels {

std::vector<ConfigParameter> fusedParameters() {
  std::vector<ConfigParameter> parameters = gemmParameters();
  parameters.push_back({"comm",
                        "cores that move data (0: all do, before or after they multiply)",
                        {0, 1, 2},
                        {},
                        0});
  return parameters;
}

Config fusedDefaults(const Problem &problem, int64_t rows, bool sums) {
  heuristics::GemmNeeds needs{.isStoredByThreads = true, .isSummed = sums};
  GemmTile tile = heuristics::gemmTile(gemmShape(problem, rows), problem.target, needs);
  int64_t comm = heuristics::communicatingCores(problem.cores, problem.target);
  return {{"m", tile.m}, {"n", tile.n}, {"k", tile.k}, {"group", tile.group}, {"comm", comm}};
}

FusedGemmConfig fusedConfig(const Config &config) {
  return {gemmTile(config), config.get("comm"), config.valueOr("engine", 0) == 1};
}

std::vector<Dimensions> fusedTestShapes() {
  return {{{"M", 1}, {"N", 1}, {"K", 1}},
          {{"M", 7}, {"N", 13}, {"K", 11}},
          {{"M", 1}, {"N", 48}, {"K", 5}},
          {{"M", 2}, {"N", 3}, {"K", 4099}},
          {{"M", 33}, {"N", 48}, {"K", 96}}};
}

std::vector<CheckCase> fusedCheckCases() {
  return {{{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4,group=1,comm=0"},
          {{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4,group=1,comm=1"},
          {{{"M", 10}, {"N", 3}, {"K", 7}}, "m=4,n=4,k=4,group=1,comm=0"},
          {{{"M", 3}, {"N", 2}, {"K", kChunkColumns + 3}}, "m=2,n=2,k=4096,comm=1"}};
}

} // namespace ditron::kernels
