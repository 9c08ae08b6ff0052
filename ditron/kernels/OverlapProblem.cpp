// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/OverlapProblem.h"

namespace ditron::kernels {

heuristics::OverlapProblem overlapProblem(const Problem &problem, heuristics::Exchange exchange,
                                          const Config &config, DType result) {
  bool isOfShards = exchange != heuristics::Exchange::allReduce; // M are the rows of a rank's shard
  heuristics::OverlapProblem made;
  made.exchange = exchange;
  made.rows = problem["M"] * (isOfShards ? problem.ranks : 1);
  made.N = problem["N"], made.K = problem["K"];
  made.ranks = problem.ranks;
  made.cores = problem.target.isGpu() ? problem.target.sms : problem.cores;
  made.tileM = config["m"], made.tileN = config["n"];
  made.operandBytes = int64_t(byteSize(problem.type));
  made.resultBytes = int64_t(byteSize(result));
  return made;
}

} // namespace ditron::kernels
