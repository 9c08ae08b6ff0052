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
  parameters.push_back({"form",
                        "the verbs written in the kernel, or derived from where arguments live",
                        {},
                        {"explicit", "placed"},
                        0});
  return parameters;
}

Config fusedDefaults(const Problem &problem, int64_t rows, bool sums) {
  heuristics::GemmNeeds needs{.isStoredByThreads = true, .isSummed = sums};
  GemmTile tile = heuristics::gemmTile(gemmShape(problem, rows), problem.target, needs);
  int64_t comm = heuristics::communicatingCores(problem.cores, problem.target);
  return {{"m", tile.m},         {"n", tile.n},  {"k", tile.k},
          {"group", tile.group}, {"comm", comm}, {"form", 0}};
}

FusedGemmConfig fusedConfig(const Config &config) {
  return {gemmTile(config), config.get("comm"), config.valueOr("engine", 0) == 1};
}

bool isPlaced(const Config &config) { return config["form"] == 1; }

Kernel placedGemm(DType type, const Config &config, const char *argument,
                  const Placement &placement) {
  GemmConfig gemmConfig;
  static_cast<GemmTile &>(gemmConfig) = gemmTile(config);
  Engine engine = config.valueOr("engine", 0) == 1 ? Engine::copy : Engine::core;
  Placement where = placement.cores(config.get("comm")).on(engine);
  return distribute(gemm(type, gemmConfig), {{argument, where}});
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
          {{{"M", 6}, {"N", 5}, {"K", 7}}, "m=4,n=4,k=4,group=1,comm=1,form=placed"},
          {{{"M", 10}, {"N", 3}, {"K", 7}}, "m=4,n=4,k=4,group=1,comm=0,form=placed"},
          {{{"M", 10}, {"N", 3}, {"K", 7}}, "m=4,n=4,k=4,group=1,comm=0"},
          {{{"M", 3}, {"N", 2}, {"K", kChunkColumns + 3}}, "m=2,n=2,k=4096,comm=1"}};
}

} // namespace ditron::kernels
