// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank's rows on every rank. A rank copies its rows to where the others can read them and
// says so chunk by chunk; everyone then fetches what is ready, its own rows first.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

template <class T> static Kernel allGatherOf(ChunkConfig cfg) {
  return {"all-gather(x[M,N]) -> y[R*M,N]", [=](In<T> x, Out<T> y) {
            auto mine = x.tiled(cfg.rows, cfg.columns);
            auto gathered = y.split(numRanks()).tiled(cfg.rows, cfg.columns);
            auto shared = symmetric<T>({x.rows(), x.cols()}, "shared");
            auto on = [&](Index peer) { return shared.on(peer).tiled(cfg.rows, cfg.columns); };
            auto ready = signals({numRanks(), mine.rows(), mine.cols()}, "ready");

            for (auto [i, j] : mine.tiles()) {
              put(mine(i, j), on(rank())(i, j));
              for (auto peer : ranks())
                notify(ready.on(peer)(rank(), i, j));
            }
            for (auto [s, i, j] : gathered.tiles(order::ownShardFirst)) {
              wait(ready(s, i, j), 1);
              get(on(s)(i, j), gathered(s, i, j));
            }
          }};
}

Kernel allGather(DType type, const ChunkConfig &config) {
  return Any::dispatch(type, "all-gather", [&]<class T> { return allGatherOf<T>(config); });
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  int64_t M = run.problem["M"];
  std::vector<Expected> result;
  for (int64_t column : row.columns)
    result.push_back(Expected::exact(run.inputs.at(row.row / M, 0, row.row % M, column)));
  return result;
}

KernelEntry allGatherEntry() {
  return {
      .name = "all-gather",
      .summary = "every rank's rows on every rank",
      .dtypes = Any::list(),
      .isDistributed = true,
      .parameters = chunkParameters(),
      .defaults = [](const Problem &p) { return movedChunks(p, p["M"], p["N"]); },
      .make = [](DType type, const Config &config) { return allGather(type, chunkConfig(config)); },
      .shape = {{"M", 256}, {"N", 1024}},
      .testShapes = {{{"M", 1}, {"N", 1}}, {{"M", 7}, {"N", 13}}, {{"M", 64}, {"N", 48}}},
      .benchShapes = {{{"M", 1}, {"N", 1024}}, {{"M", 2048}, {"N", 4096}}},
      .checkCases = {{{{"M", 5}, {"N", 7}}, "rows=2,columns=4"}},
      .variants = {"rows=2,columns=5"},
      .bytes = [](const Problem &p) { return 1.0 * p["R"] * p["M"] * p["N"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .collective = Collective::allGather,
      .reference = reference,
  };
}

} // namespace ditron::kernels
