// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of a sequence of which every rank has a part: queries stay, keys and values travel round
// the ring of ranks. It is flash-attention of one device with k and v placed: the loop over the keys
// is cut into shards, and follows them as they arrive (Liu et al., arXiv 2310.01889).
#include "ditron/heuristics/Communication.h"
#include "ditron/kernels/AttentionEntry.h"
#include "ditron/kernels/kernels.h"
#include "ditron/lang/Distribute.h"

namespace ditron::kernels {

using namespace attention;

Kernel ringAttention(DType type, const RingAttentionConfig &config) {
  Placement keys = gathered(0).ring(config.ring).cores(config.commCores);
  keys = keys.on(config.copyEngines ? Engine::copy : Engine::core);
  return distribute("ring-attention", flashAttention(type, config), {{"k", keys}, {"v", keys}});
}

//===-- Reference -----------------------------------------------------------------------------===//

/// One sequence as long as the queries of all ranks: a rank's queries come behind those of the ranks
/// before it, and the keys end with its last one. Else keys are cut as those of one rank are.
static double input(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                    int64_t element) {
  if (argument != kQStarts && argument != kKStarts)
    return inputs.standard(rank, argument, element);
  Problem whole = problem;
  whole.dims["S"] = problem["S"] * problem.ranks;
  bool isOne = problem["B"] == 1 && problem["T"] == problem["S"];
  if (isOne && argument == kKStarts)
    return static_cast<double>(element * (rank + 1) * problem["S"]);
  return attentionStarts(whole, inputs, rank, argument, element);
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  int64_t part = run.problem["S"];
  return attended(run, row, [&](int64_t key) { return KeyPlace{key / part, key % part}; });
}

//===-- Registry ------------------------------------------------------------------------------===//

static Config defaults(const Problem &problem) {
  Config config = flashAttentionEntry().defaults(problem);
  config.set("causal", 1);
  config.add({"comm", heuristics::communicatingCores(problem.cores, problem.target)});
  config.add({"engine", problem.target.isGpu() ? 1 : 0});
  config.add({"way", 0});
  return config;
}

static Kernel make(DType type, const Config &config) {
  RingAttentionConfig ring;
  ring.m = config.get("m"), ring.n = config.get("n"), ring.d = config.get("d");
  ring.causal = config["causal"] != 0;
  ring.commCores = config.get("comm");
  ring.copyEngines = config["engine"] == 1;
  ring.ring = config["way"] == 0;
  return ringAttention(type, ring);
}

/// Of queries that see the keys of all ranks, or half of them.
static double flops(const Problem &problem, const Config &config) {
  return static_cast<double>(problem.ranks) * flashAttentionEntry().flops(problem, config);
}

static std::vector<ConfigParameter> parameters() {
  std::vector<ConfigParameter> result = flashAttentionEntry().parameters;
  result.push_back({"comm",
                    "cores that move keys and values (0: all do, before they compute)",
                    {0, 1, 2},
                    {},
                    0});
  result.push_back({"engine", "what moves keys and values", {}, {"cores", "copy"}, 0});
  result.push_back({"way",
                    "from neighbour to neighbour, or from each rank to all others",
                    {},
                    {"ring", "direct"},
                    0});
  return result;
}

KernelEntry ringAttentionEntry() {
  KernelEntry entry = flashAttentionEntry();
  entry.name = "ring-attention";
  entry.summary = "attention of a sequence in parts, keys and values going round the ranks";
  entry.isDistributed = true;
  entry.parameters = parameters();
  entry.defaults = defaults;
  entry.make = make;
  entry.shape = {{"T", 256}, {"S", 256}, {"N", 4}, {"G", 2}, {"D", 64}, {"B", 1}};
  entry.testShapes = {
      {{"T", 1}, {"S", 1}, {"N", 1}, {"G", 1}, {"D", 1}, {"B", 1}},
      {{"T", 21}, {"S", 21}, {"N", 2}, {"G", 1}, {"D", 16}, {"B", 1}},
      {{"T", 7}, {"S", 5}, {"N", 2}, {"G", 1}, {"D", 3}, {"B", 4}},
      {{"T", 33}, {"S", 37}, {"N", 6}, {"G", 3}, {"D", 20}, {"B", 3}},
  };
  entry.benchShapes = {{{"T", 1024}, {"S", 1024}, {"N", 8}, {"G", 8}, {"D", 64}, {"B", 1}},
                       {{"T", 1024}, {"S", 1024}, {"N", 8}, {"G", 2}, {"D", 128}, {"B", 1}}};
  entry.checkCases = {};
  for (const char *config :
       {"m=4,n=4,d=4,comm=1,engine=cores", "m=4,n=4,d=4,engine=copy,causal=no",
        "m=4,n=4,d=4,comm=0,engine=cores,way=direct", "m=4,n=4,d=4,engine=copy,way=direct"})
    entry.checkCases.push_back(
        {{{"T", 6}, {"S", 6}, {"N", 2}, {"G", 1}, {"D", 3}, {"B", 1}}, config});
  entry.variants = {"causal=no", "m=10,n=9,engine=cores,comm=1", "m=10,n=9,engine=copy",
                    "m=10,n=9,causal=no,engine=cores,way=direct",
                    "m=10,n=9,engine=copy,way=direct"};
  entry.flops = flops;
  entry.input = input;
  entry.reference = reference;
  return entry;
}

} // namespace ditron::kernels
