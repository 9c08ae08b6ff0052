// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank's rows on every rank. A rank sends its rows to the others, which copy what has arrived
// into their result. The own rows are sent nowhere. Few bytes travel in inboxes.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/Exchange.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

template <class T> static void inInboxes(const TransferConfig &cfg, In<T> x, Out<T> y) {
  auto mine = x.tiled(cfg.rows, cfg.columns);
  auto result = y.split(numRanks()).tiled(cfg.rows, cfg.columns);
  auto box = inbox<T>({numRanks(), mine.rows(), mine.cols()}, {cfg.rows, cfg.columns}, "box");
  for (auto [i, j] : mine.tiles()) {
    Tile tile = mine(i, j);
    sendToPeers(tile, box, i, j);
    result(rank(), i, j) = tile;
  }
  for (auto [i, j] : mine.tiles())
    for (auto peer : peers())
      result(peer, i, j) = receive(box(peer, i, j));
}

Kernel allGather(DType type, const TransferConfig &config) {
  checkTransfer("all-gather", config);
  return Any::dispatch(type, "all-gather", [&]<class T> {
    return Kernel("all-gather(x[M,N]) -> y[R*M,N]", [=](In<T> x, Out<T> y) {
      if (!config.copyEngines && config.protocol == Protocol::ll)
        return inInboxes<T>(config, x, y);
      exchange<T>(config, [&](const Index &) { return x; }, y);
    });
  });
}

/// A rank sends its rows to each of the others, and copies what it is sent.
static Config defaults(const Problem &p) {
  int64_t bytes = p["M"] * p["N"] * static_cast<int64_t>(byteSize(p.type));
  int64_t moved = (p.ranks - 1) * bytes;
  return movedTransfer(p, p["M"], p["N"], {moved, 2 * moved, p.ranks});
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
      .parameters = transferParameters(),
      .defaults = defaults,
      .make = [](DType type,
                 const Config &config) { return allGather(type, transferConfig(config)); },
      .shape = {{"M", 256}, {"N", 1024}},
      .testShapes = {{{"M", 1}, {"N", 1}}, {{"M", 7}, {"N", 13}}, {{"M", 64}, {"N", 48}}},
      .benchShapes = {{{"M", 1}, {"N", 1024}}, {{"M", 2048}, {"N", 4096}}},
      .checkCases = transferCheckCases(),
      .variants = transferVariants(),
      .bytes = [](const Problem &p) { return 1.0 * p["R"] * p["M"] * p["N"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .collective = Collective::allGather,
      .reference = reference,
  };
}

} // namespace ditron::kernels
