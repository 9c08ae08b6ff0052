// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank's rows on every rank. A rank sends its rows to the others, which copy what has arrived
// into their result. The own rows are sent nowhere. Few bytes travel in inboxes. Copy engines send rows to the previous rank,
// which sends them on.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/Exchange.h"
#include "ditron/kernels/functions/ShardCopies.h"
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

template <class T> static void alongRing(const TransferConfig &cfg, In<T> x, Out<T> y) {
  auto tiled = [&](const auto &view) { return view.tiled(cfg.rows, cfg.columns); };
  auto mine = tiled(x);
  auto result = tiled(y.split(numRanks()));
  auto slots = symmetric<T>({numRanks(), x.rows(), x.cols()}, "slots");
  auto received = tiled(slots);
  RowChunks chunks(x.rows(), cfg.rows, cfg.chunks);
  auto arrived = signals({numRanks(), chunks.count()}, "arrived");

  copyEngines().run("send", [&] {
    sendAlongRing(
        chunks, /*comesInChunks=*/false,
        [&](Index s, Index q) { wait(arrived(s, q), select(s == rank(), 0, 1)); },
        [&](Index peer, Index s, Index q) {
          auto there = chunks.slice(slots.on(peer).at(s), q);
          when(
              s == rank(), [&] { put(chunks.slice(x, q), there); },
              [&] { put(chunks.slice(slots.at(s), q), there); });
        },
        [&](Index peer, Index s, Index q) { notify(arrived.on(peer)(s, q)); });
  });
  for (auto [s, i, j] : result.tiles(order::ownShardFirst)) {
    auto keep = [&] { result(s, i, j) = mine(i, j); };
    auto take = [&] {
      wait(arrived(s, chunks.of(i)), 1);
      result(s, i, j) = received(s, i, j);
    };
    when(s == rank(), keep, take);
  }
}

Kernel allGather(DType type, const TransferConfig &config) {
  checkTransfer("all-gather", config);
  return Any::dispatch(type, "all-gather", [&]<class T> {
    return Kernel("all-gather(x[M,N]) -> y[R*M,N]", [=](In<T> x, Out<T> y) {
      if (!config.copyEngines && config.protocol == Protocol::ll)
        return inInboxes<T>(config, x, y);
      if (config.copyEngines)
        return alongRing<T>(config, x, y);
      exchange<T>(config, [&](const Index &) { return x; }, y);
    });
  });
}

/// A rank sends its rows to each of the others, and copies what it is sent.
static Config defaults(const Problem &p) {
  int64_t bytes = p["M"] * p["N"] * static_cast<int64_t>(byteSize(p.type));
  return movedTransfer(p, p["M"], p["N"],
                       {.sent = (p.ranks - 1) * bytes, .behind = 2 * bytes, .ranks = p.ranks});
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
