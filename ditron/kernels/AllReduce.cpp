// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums over the ranks, on every rank. In one shot everyone sends everything to everyone and adds:
// one exchange, for small messages. In two shots each rank adds one shard of the rows, then all
// fetch the shards: R/2 times less traffic. Both add in the order of the ranks, so both give the
// same bits on every rank.
#include "ditron/heuristics/Communication.h"
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"

namespace ditron::kernels {

template <class T> static Kernel oneShot(ChunkConfig cfg) {
  return {"all-reduce(x[M,N]) -> y[M,N]", [=](In<T> x, Out<T> y) {
            auto mine = x.tiled(cfg.rows, cfg.columns);
            auto sums = y.tiled(cfg.rows, cfg.columns);
            auto slots = symmetric<T>({numRanks(), x.rows(), x.cols()}, "slots");
            auto parts = slots.tiled(cfg.rows, cfg.columns);
            auto arrived = signals({sums.rows(), sums.cols()}, "arrived");

            for (auto [i, j] : mine.tiles())
              for (auto peer : ranks()) {
                put(mine(i, j), slots.on(peer).tiled(cfg.rows, cfg.columns)(rank(), i, j));
                notify(arrived.on(peer)(i, j));
              }
            for (auto [i, j] : sums.tiles()) {
              wait(arrived(i, j), numRanks());
              sums(i, j) = cast<T>(sumOverRanks(parts, i, j));
            }
          }};
}

template <class T> static Kernel twoShot(ChunkConfig cfg) {
  return {
      "all-reduce(x[M,N]) -> y[M,N]", [=](In<T> x, Out<T> y) {
        // Shards have `size` rows, the last ones fewer or none.
        auto size = ceilDiv(x.rows(), numRanks());
        auto shardOf = [&](const auto &view, Index owner) {
          Shard shard(owner, size, x.rows());
          return view.slice(0, shard.first, shard.count).tiled(cfg.rows, cfg.columns);
        };
        // What such a shard takes of a buffer for one.
        auto roomFor = [&](const auto &view, Index owner) {
          return view.slice(0, 0, Shard(owner, size, x.rows()).count).tiled(cfg.rows, cfg.columns);
        };
        auto slots = symmetric<T>({numRanks(), size, x.cols()}, "slots");
        auto parts = slots.tiled(cfg.rows, cfg.columns);
        auto shared = symmetric<T>({size, x.cols()}, "sums");
        auto sums = shared.tiled(cfg.rows, cfg.columns);
        auto arrived = signals({sums.rows(), sums.cols()}, "arrived");
        auto ready = signals({numRanks(), sums.rows(), sums.cols()}, "ready");

        for (auto [owner, i, j] : parts.tiles(order::nextRankFirst)) {
          auto sent = shardOf(x, owner);
          when(i < sent.rows(), [&] {
            put(sent(i, j), roomFor(slots.on(owner).at(rank()), owner)(i, j));
            notify(arrived.on(owner)(i, j));
          });
        }
        // Of the slots of a smaller shard only the first rows are written.
        auto filled =
            slots.slice(1, 0, Shard(rank(), size, x.rows()).count).tiled(cfg.rows, cfg.columns);
        for (auto [i, j] : shardOf(x, rank()).tiles()) {
          wait(arrived(i, j), numRanks());
          sums(i, j) = cast<T>(sumOverRanks(filled, i, j));
          for (auto peer : ranks())
            notify(ready.on(peer)(rank(), i, j));
        }
        for (auto [owner, i, j] : parts.tiles(order::ownShardFirst)) {
          auto received = shardOf(y, owner);
          when(i < received.rows(), [&] {
            wait(ready(owner, i, j), 1);
            get(roomFor(shared.on(owner), owner)(i, j), received(i, j));
          });
        }
      }};
}

Kernel allReduce(DType type, const AllReduceConfig &config) {
  return Sums::dispatch(type, "all-reduce", [&]<class T> {
    return config.twoShot ? twoShot<T>(config.chunk) : oneShot<T>(config.chunk);
  });
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  return sumOfRanks(run, row, row.row);
}

static Config defaults(const Problem &p) {
  int64_t bytes = p["M"] * p["N"] * static_cast<int64_t>(byteSize(p.type));
  bool twoShot = heuristics::takesTwoShots(bytes);
  int64_t rows = twoShot ? (p["M"] + p.ranks - 1) / p.ranks : p["M"];
  ChunkConfig chunk = chunkConfig(summedChunks(rows, p["N"]));
  return {{"rows", chunk.rows}, {"columns", chunk.columns}, {"shots", twoShot ? 1 : 0}};
}

KernelEntry allReduceEntry() {
  std::vector<ConfigParameter> parameters = chunkParameters();
  parameters.push_back(
      {"shots", "exchanges: everything to everyone, or sums first", {0, 1}, {"one", "two"}});
  return {
      .name = "all-reduce",
      .summary = "sums over the ranks, on every rank",
      .dtypes = Sums::list(),
      .isDistributed = true,
      .parameters = parameters,
      .defaults = defaults,
      .make =
          [](DType type, const Config &config) {
            return allReduce(type, {chunkConfig(config), config["shots"] != 0});
          },
      .shape = {{"M", 256}, {"N", 1024}},
      .testShapes = {{{"M", 1}, {"N", 1}}, {{"M", 7}, {"N", 13}}, {{"M", 32}, {"N", 48}}},
      .benchShapes = {{{"M", 1}, {"N", 1024}}, {{"M", 2048}, {"N", 4096}}},
      .checkCases = {{{{"M", 5}, {"N", 7}}, "rows=2,columns=4,shots=one"},
                     {{{"M", 9}, {"N", 7}}, "rows=2,columns=4,shots=two"},
                     {{{"M", 7}, {"N", 3}}, "rows=1,columns=4,shots=two"}},
      .variants = {"shots=two", "rows=2,columns=5", "rows=2,columns=5,shots=two"},
      .bytes = [](const Problem &p) { return 1.0 * p["M"] * p["N"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .collective = Collective::allReduce,
      .reference = reference,
  };
}

} // namespace ditron::kernels
