// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank's rows on every rank. A rank sends its rows to the others, which copy what has arrived
// into their result. The own rows are sent nowhere. Cores push few bytes chunk by chunk, to all
// peers at once; copy engines push many, to one peer after the other, the previous one first, since
// it takes them first.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

static constexpr const char *kSignature = "all-gather(x[M,N]) -> y[R*M,N]";

template <class T> static Kernel byCores(TransferConfig cfg) {
  return {kSignature, [=](In<T> x, Out<T> y) {
            auto mine = x.tiled(cfg.rows, cfg.columns);
            auto gathered = y.split(numRanks()).tiled(cfg.rows, cfg.columns);
            auto slots = symmetric<T>({numRanks(), x.rows(), x.cols()}, "slots");
            auto sent = slots.tiled(cfg.rows, cfg.columns);
            auto on = [&](Index peer) { return slots.on(peer).tiled(cfg.rows, cfg.columns); };
            auto arrived = signals({numRanks(), mine.rows(), mine.cols()}, "arrived");

            for (auto [i, j] : mine.tiles())
              for (auto peer : peers()) {
                put(mine(i, j), on(peer)(rank(), i, j));
                notify(arrived.on(peer)(rank(), i, j));
              }
            for (auto at : gathered.tiles(order::ownShardFirst)) {
              auto [s, i, j] = at;
              auto keep = [&] { gathered(s, i, j) = mine(i, j); };
              auto receive = [&] {
                wait(arrived(s, i, j), 1);
                gathered(s, i, j) = sent(s, i, j);
              };
              when(s == rank(), keep, receive);
            }
          }};
}

template <class T> static Kernel byCopyEngines(TransferConfig cfg) {
  return {kSignature, [=](In<T> x, Out<T> y) {
            auto mine = x.tiled(cfg.rows, cfg.columns);
            auto gathered = y.split(numRanks()).tiled(cfg.rows, cfg.columns);
            auto slots = symmetric<T>({numRanks(), x.rows(), x.cols()}, "slots");
            auto sent = slots.tiled(cfg.rows, cfg.columns);
            RowChunks chunks(x.rows(), cfg.rows, cfg.chunks);
            auto arrived = signals({numRanks(), chunks.most()}, "arrived");

            copyEngines().run("gather", [&] {
              for (auto peer : peers())
                for (auto q : range(chunks.count())) {
                  auto part = [&](const auto &view) {
                    return view.slice(0, chunks.first(q), chunks.rows(q));
                  };
                  put(part(x), part(slots.on(peer).at(rank())));
                  notify(arrived.on(peer)(rank(), q));
                }
            });
            for (auto at : gathered.tiles(order::ownShardFirst)) {
              auto [s, i, j] = at;
              auto keep = [&] { gathered(s, i, j) = mine(i, j); };
              auto receive = [&] {
                wait(arrived(s, chunks.of(i)), 1);
                gathered(s, i, j) = sent(s, i, j);
              };
              when(s == rank(), keep, receive);
            }
          }};
}

Kernel allGather(DType type, const TransferConfig &config) {
  return Any::dispatch(type, "all-gather", [&]<class T> {
    return config.copyEngines ? byCopyEngines<T>(config) : byCores<T>(config);
  });
}

/// A rank sends its rows to each of the others, and copies what it is sent.
static Config defaults(const Problem &p) {
  int64_t bytes = p["M"] * p["N"] * static_cast<int64_t>(byteSize(p.type));
  int64_t moved = (p.ranks - 1) * bytes;
  return transferDefaults(p, p["M"], p["N"], {moved, 2 * moved, p.ranks},
                          movedChunks(p, p["M"], p["N"]));
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
      .checkCases = {{{{"M", 5}, {"N", 7}}, "rows=2,columns=4,engine=cores"},
                     {{{"M", 5}, {"N", 7}}, "rows=2,columns=4,engine=copy,chunks=2"},
                     {{{"M", 3}, {"N", 2}}, "rows=2,columns=4,engine=copy,chunks=3"}},
      .variants = {"rows=2,columns=5", "engine=copy", "rows=2,columns=5,engine=copy,chunks=3"},
      .bytes = [](const Problem &p) { return 1.0 * p["R"] * p["M"] * p["N"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .collective = Collective::allGather,
      .reference = reference,
  };
}

} // namespace ditron::kernels
