// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums over the ranks, each rank's rows on that rank. Every rank sends the rows of the others to
// slots of their own there; the owner adds them to its own rows, those of the next rank first,
// whichever came first. Cores send the fewest in inboxes, and few bytes chunk by chunk, to all owners at once; copy engines
// send many, whole shards but the last one, whose chunks are added to the others while the next ones move.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/ShardCopies.h"
#include "ditron/kernels/kernels.h"
#include "ditron/lang/Inbox.h"

namespace ditron::kernels {

static constexpr const char *kSignature = "reduce-scatter(x[R*M,N]) -> y[M,N]";

template <class T> static Kernel byCores(TransferConfig cfg) {
  return {kSignature, [=](In<T> x, Out<T> y) {
            auto mine = x.split(numRanks()).tiled(cfg.rows, cfg.columns);
            auto sums = y.tiled(cfg.rows, cfg.columns);
            auto slots = symmetric<T>({numRanks(), y.rows(), y.cols()}, "slots");
            auto parts = slots.tiled(cfg.rows, cfg.columns);
            int height = cfg.rows * cfg.batch;
            auto batches = x.split(numRanks()).tiled(height, cfg.columns);
            auto arrived = signals({batches.rows(), batches.cols()}, "arrived");

            auto send = [&](Index i, Index j) {
              for (auto owner : peers(Ring::next)) {
                auto theirs = slots.on(owner).tiled(height, cfg.columns);
                put(batches(owner, i, j), theirs(rank(), i, j));
                notify(arrived.on(owner)(i, j));
              }
            };
            auto arrives = [&](Index i, Index j) { wait(arrived(i, j), numRanks() - 1); };
            auto add = [&](Index i, Index j) {
              arrives(i, j);
              eachOfBatch(cfg, i, sums.rows(), [&](Index row) {
                sums(row, j) = cast<T>(
                    sumWithPeers(mine(rank(), row, j), parts, row, j, [](const Index &) {}));
              });
            };
            sendAndReceive(cfg, y.tiled(height, cfg.columns), send, arrives, add);
          }};
}

template <class T> static Kernel inInboxes(TransferConfig cfg) {
  return {kSignature, [=](In<T> x, Out<T> y) {
            auto mine = x.split(numRanks()).tiled(cfg.rows, cfg.columns);
            auto sums = y.tiled(cfg.rows, cfg.columns);
            auto box =
                inbox<T>({numRanks(), sums.rows(), sums.cols()}, {cfg.rows, cfg.columns}, "box");
            for (auto [i, j] : sums.tiles())
              for (auto owner : peers(Ring::next))
                send(mine(owner, i, j), box.on(owner)(rank(), i, j));
            for (auto [i, j] : sums.tiles()) {
              Var total = cast<Accumulator<T>>(mine(rank(), i, j));
              for (auto peer : peers(Ring::next))
                total += cast<Accumulator<T>>(receive(box(peer, i, j)));
              sums(i, j) = cast<T>(total);
            }
          }};
}

template <class T> static Kernel byCopyEngines(TransferConfig cfg) {
  return {kSignature, [=](In<T> x, Out<T> y) {
            auto shards = x.split(numRanks());
            auto mine = shards.at(rank()).tiled(cfg.rows, cfg.columns);
            auto sums = y.tiled(cfg.rows, cfg.columns);
            auto slots = symmetric<T>({numRanks(), y.rows(), y.cols()}, "slots");
            auto parts = slots.tiled(cfg.rows, cfg.columns);
            RowChunks chunks(y.rows(), cfg.rows, cfg.chunks);
            auto arrived = signals({numRanks(), chunks.count()}, "arrived");
            auto turns = signals(numRanks(), "turns");

            copyEngines().run("scatter", [&] {
              sendShards(
                  chunks, Ring::next, turns,
                  [&](Index owner, Index q) {
                    put(chunks.slice(shards.at(owner), q),
                        chunks.slice(slots.on(owner).at(rank()), q));
                  },
                  [&](Index owner, Index q) { notify(arrived.on(owner)(rank(), q)); });
            });
            for (auto at : sums.tiles()) {
              auto [i, j] = at;
              auto chunk = chunks.of(i);
              auto arrives = [&](const Index &peer) { wait(arrived(peer, chunk), 1); };
              sums(i, j) = cast<T>(sumWithPeers(mine(i, j), parts, i, j, arrives));
            }
          }};
}

Kernel reduceScatter(DType type, const TransferConfig &config) {
  checkTransfer("reduce-scatter", config);
  return Sums::dispatch(type, "reduce-scatter", [&]<class T> {
    if (config.copyEngines)
      return byCopyEngines<T>(config);
    return config.protocol == Protocol::ll ? inInboxes<T>(config) : byCores<T>(config);
  });
}

/// A rank sends rows to each of the others, and reads as many sums' terms as there are ranks.
static Config defaults(const Problem &p) {
  int64_t bytes = p["M"] * p["N"] * static_cast<int64_t>(byteSize(p.type));
  return summedTransfer(
      p, p["M"], p["N"],
      {.sent = (p.ranks - 1) * bytes, .behind = (p.ranks + 1) * bytes, .ranks = p.ranks});
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
      .parameters = transferParameters(),
      .defaults = defaults,
      .make = [](DType type,
                 const Config &config) { return reduceScatter(type, transferConfig(config)); },
      .shape = {{"M", 256}, {"N", 1024}},
      .testShapes = {{{"M", 1}, {"N", 1}}, {{"M", 7}, {"N", 13}}, {{"M", 32}, {"N", 48}}},
      .benchShapes = {{{"M", 1}, {"N", 1024}}, {{"M", 2048}, {"N", 4096}}},
      .checkCases = transferCheckCases(),
      .variants = transferVariants(),
      .bytes = [](const Problem &p) { return 1.0 * p["R"] * p["M"] * p["N"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .collective = Collective::reduceScatter,
      .reference = reference,
  };
}

} // namespace ditron::kernels
