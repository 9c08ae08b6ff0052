// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums over the ranks, each rank's rows on that rank. Every rank sends the rows of the others to
// slots of their own there; the owner adds the slots in the order of the ranks, whichever came
// first.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

template <class T> static Kernel reduceScatterOf(ChunkConfig cfg) {
  return {"reduce-scatter(x[R*M,N]) -> y[M,N]", [=](In<T> x, Out<T> y) {
            auto sent = x.split(numRanks()).tiled(cfg.rows, cfg.columns);
            auto sums = y.tiled(cfg.rows, cfg.columns);
            auto slots = symmetric<T>({numRanks(), y.rows(), y.cols()}, "slots");
            auto parts = slots.tiled(cfg.rows, cfg.columns);
            auto arrived = signals({sums.rows(), sums.cols()}, "arrived");

            for (auto [owner, i, j] : sent.tiles(order::nextRankFirst)) {
              auto theirs = slots.on(owner).tiled(cfg.rows, cfg.columns);
              put(sent(owner, i, j), theirs(rank(), i, j));
              notify(arrived.on(owner)(i, j));
            }
            for (auto [i, j] : sums.tiles()) {
              wait(arrived(i, j), numRanks());
              sums(i, j) = cast<T>(sumOverRanks(parts, i, j));
            }
          }};
}

Kernel reduceScatter(DType type, const ChunkConfig &config) {
  return Sums::dispatch(type, "reduce-scatter",
                        [&]<class T> { return reduceScatterOf<T>(config); });
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  return sumOfRanks(run, row, row.rank * run.problem["M"] + row.row);
}

KernelEntry reduceScatterEntry() {
  return {
      .name = "reduce-scatter",
      .summary = "sums over the ranks, each rank's rows on that rank",
      .dtypes = Sums::list(),
      .isDistributed = true,
      .parameters = chunkParameters(),
      .defaults = [](const Problem &p) { return summedChunks(p["M"], p["N"]); },
      .make = [](DType type,
                 const Config &config) { return reduceScatter(type, chunkConfig(config)); },
      .shape = {{"M", 256}, {"N", 1024}},
      .testShapes = {{{"M", 1}, {"N", 1}}, {{"M", 7}, {"N", 13}}, {{"M", 32}, {"N", 48}}},
      .benchShapes = {{{"M", 1}, {"N", 1024}}, {{"M", 2048}, {"N", 4096}}},
      .checkCases = {{{{"M", 5}, {"N", 7}}, "rows=2,columns=4"},
                     {{{"M", 5}, {"N", 3}}, "rows=2,columns=4"}},
      .variants = {"rows=2,columns=5"},
      .bytes = [](const Problem &p) { return 1.0 * p["R"] * p["M"] * p["N"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .collective = Collective::reduceScatter,
      .reference = reference,
  };
}

} // namespace ditron::kernels
