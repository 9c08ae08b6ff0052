// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As many rows from every rank to every rank: part r of x goes to rank r, and part s of y comes from
// rank s. all-to-all has counts that are known only at run time.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/Exchange.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

Kernel denseAllToAll(DType type, const TransferConfig &config) {
  checkTransfer("dense-all-to-all", config);
  return Any::dispatch(type, "dense-all-to-all", [&]<class T> {
    return Kernel("dense-all-to-all(x[R*M,N]) -> y[R*M,N]", [=](In<T> x, Out<T> y) {
      auto parts = x.split(numRanks());
      exchange<T>(config, [&](const Index &peer) { return parts.at(peer); }, y);
    });
  });
}

/// A rank sends a part to each of the others, and copies what it is sent.
static Config defaults(const Problem &p) {
  int64_t bytes = p["M"] * p["N"] * static_cast<int64_t>(byteSize(p.type));
  return movedTransfer(p, p["M"], p["N"],
                       {.sent = (p.ranks - 1) * bytes, .behind = 2 * bytes, .ranks = p.ranks});
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  int64_t M = run.problem["M"], from = row.row / M;
  std::vector<Expected> result;
  for (int64_t column : row.columns)
    result.push_back(Expected::exact(run.inputs.at(from, 0, row.rank * M + row.row % M, column)));
  return result;
}

KernelEntry denseAllToAllEntry() {
  return {
      .name = "dense-all-to-all",
      .summary = "as many rows from every rank to every rank",
      .dtypes = Any::list(),
      .isDistributed = true,
      .parameters = transferParameters(),
      .defaults = defaults,
      .make = [](DType type,
                 const Config &config) { return denseAllToAll(type, transferConfig(config)); },
      .shape = {{"M", 128}, {"N", 1024}},
      .testShapes = {{{"M", 1}, {"N", 1}}, {{"M", 7}, {"N", 13}}, {{"M", 64}, {"N", 48}}},
      .benchShapes = {{{"M", 128}, {"N", 7168}}, {{"M", 2048}, {"N", 7168}}},
      .checkCases = transferCheckCases(),
      .variants = transferVariants(),
      .bytes = [](const Problem &p) { return 1.0 * p["R"] * p["M"] * p["N"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .collective = Collective::denseAllToAll,
      .reference = reference,
  };
}

} // namespace ditron::kernels
