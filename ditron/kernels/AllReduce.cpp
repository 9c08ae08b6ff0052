// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums over the ranks, on every rank. In one shot everyone sends everything to everyone and adds in
// the order of the ranks: one exchange, for small messages and for two ranks. In two shots each rank
// adds one shard of the rows, its own part first, and sends the sums to all: R/2 times less traffic. Each element is added in
// one order only, so all ranks have the same bits. Few bytes travel in inboxes.
#include "ditron/heuristics/Communication.h"
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/ReferenceSums.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/functions/ShardCopies.h"
#include "ditron/kernels/kernels.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>

namespace ditron::kernels {

static constexpr const char *kSignature = "all-reduce(x[M,N]) -> y[M,N]";

template <class T> static Kernel oneShot(TransferConfig cfg) {
  return {kSignature, [=](In<T> x, Out<T> y) {
            int height = cfg.rows * cfg.batch;
            auto batches = x.tiled(height, cfg.columns);
            auto sums = y.tiled(cfg.rows, cfg.columns);
            auto slots = symmetric<T>({numRanks(), x.rows(), x.cols()}, "slots");
            auto arrived = signals({batches.rows(), batches.cols()}, "arrived");

            auto send = [&](Index i, Index j) {
              for (auto peer : peers()) {
                put(batches(i, j), slots.on(peer).tiled(height, cfg.columns)(rank(), i, j));
                notify(arrived.on(peer)(i, j));
              }
            };
            auto arrives = [&](Index i, Index j) { wait(arrived(i, j), numRanks() - 1); };
            auto add = [&](Index i, Index j) {
              arrives(i, j);
              eachOfBatch(cfg, i, sums.rows(), [&](Index row) {
                Var total = zeros<Accumulator<T>>(cfg.rows, cfg.columns);
                for (auto r : range(numRanks())) {
                  auto part = choose(r == rank(), x, slots.at(r)).tiled(cfg.rows, cfg.columns);
                  total += cast<Accumulator<T>>(part(row, j));
                }
                sums(row, j) = cast<T>(total);
              });
            };
            sendAndReceive(cfg, batches, send, arrives, add);
          }};
}

template <class T> static Kernel oneShotInInboxes(TransferConfig cfg) {
  return {kSignature, [=](In<T> x, Out<T> y) {
            auto mine = x.tiled(cfg.rows, cfg.columns);
            auto sums = y.tiled(cfg.rows, cfg.columns);
            auto box =
                inbox<T>({numRanks(), mine.rows(), mine.cols()}, {cfg.rows, cfg.columns}, "box");
            for (auto [i, j] : mine.tiles())
              sendToPeers(mine(i, j), box, i, j);
            for (auto [i, j] : sums.tiles())
              sums(i, j) = cast<T>(sumOfReceived<T>(mine(i, j), box, i, j));
          }};
}

template <class T> static Kernel oneShotByCopyEngines(TransferConfig cfg) {
  return {kSignature, [=](In<T> x, Out<T> y) {
            auto sums = y.tiled(cfg.rows, cfg.columns);
            auto slots = symmetric<T>({numRanks(), x.rows(), x.cols()}, "slots");
            RowChunks chunks(x.rows(), cfg.rows, cfg.chunks);
            auto arrived = signals({numRanks(), chunks.count()}, "arrived");
            auto turns = signals(numRanks(), "turns");

            copyEngines().run("send", [&] {
              sendShards(
                  chunks, Ring::next, turns,
                  [&](Index peer, Index q) {
                    put(chunks.slice(x, q), chunks.slice(slots.on(peer).at(rank()), q));
                  },
                  [&](Index peer, Index q) { notify(arrived.on(peer)(rank(), q)); });
            });
            for (auto at : sums.tiles()) {
              auto [i, j] = at;
              Var total = zeros<Accumulator<T>>(cfg.rows, cfg.columns);
              for (auto r : range(numRanks())) {
                auto isOwn = r == rank();
                wait(arrived(r, chunks.of(i)), select(isOwn, 0, 1));
                auto part = choose(isOwn, x, slots.at(r)).tiled(cfg.rows, cfg.columns);
                total += cast<Accumulator<T>>(part(i, j));
              }
              sums(i, j) = cast<T>(total);
            }
          }};
}

/// What a rank does in two shots, when cores move the data: batch (i, j) of a shard at a time.
template <class T> class TwoShots {
public:
  TwoShots(const TransferConfig &cfg, const In<T> &x, const Out<T> &y)
      : cfg_(cfg), x_(x), y_(y), shards_(x.rows()),
        slots_(symmetric<T>({numRanks(), shards_.size(), x.cols()}, "slots")),
        sums_(symmetric<T>({numRanks(), shards_.size(), x.cols()}, "sums")),
        arrived_(signals({largest().rows(), largest().cols()}, "arrived")),
        known_(signals({numRanks(), largest().rows(), largest().cols()}, "known")) {}

  /// The batches of the first shard: no shard has more rows.
  auto largest() const { return batched(shards_.of(x_, 0)); }

  void sendPart(Index i, Index j) const {
    for (auto owner : peers(Ring::next)) {
      auto sent = batched(shards_.of(x_, owner));
      when(i < sent.rows(), [&] {
        put(sent(i, j), batched(shards_.room(slots_.on(owner).at(rank()), owner))(i, j));
        notify(arrived_.on(owner)(i, j));
      });
    }
  }
  void partsArrive(Index i, Index j) const {
    when(hasRows(rank(), i), [&] { wait(arrived_(i, j), numRanks() - 1); });
  }
  void add(Index i, Index j) const {
    partsArrive(i, j);
    auto mine = tiled(shards_.of(x_, rank()));
    auto received = tiled(shards_.room(slots_, rank()));
    auto result = tiled(shards_.of(y_, rank()));
    auto sums = tiled(sumsOf(rank()));
    eachOfBatch(cfg_, i, mine.rows(), [&](Index row) {
      Tile sum = cast<T>(sumWithPeers(mine(row, j), received, row, j, [](const Index &) {}));
      result(row, j) = sum;
      sums(row, j) = sum;
    });
  }
  void sendSums(Index i, Index j) const {
    when(hasRows(rank(), i), [&] {
      for (auto peer : peers()) {
        put(batched(sumsOf(rank()))(i, j),
            batched(shards_.room(sums_.on(peer).at(rank()), rank()))(i, j));
        notify(known_.on(peer)(rank(), i, j));
      }
    });
  }
  void sumsArrive(Index i, Index j) const {
    for (auto owner : peers())
      when(hasRows(owner, i), [&] { wait(known_(owner, i, j), 1); });
  }
  void takeSums(Index i, Index j) const {
    for (auto owner : peers())
      when(hasRows(owner, i), [&] {
        wait(known_(owner, i, j), 1);
        auto result = tiled(shards_.of(y_, owner));
        auto sums = tiled(sumsOf(owner));
        eachOfBatch(cfg_, i, result.rows(), [&](Index row) { result(row, j) = sums(row, j); });
      });
  }

private:
  auto tiled(const auto &view) const { return view.tiled(cfg_.rows, cfg_.columns); }
  auto batched(const auto &view) const { return view.tiled(cfg_.rows * cfg_.batch, cfg_.columns); }
  auto sumsOf(Index owner) const { return shards_.room(sums_.at(owner), owner); }
  Bool hasRows(Index owner, Index i) const { return i < batched(sumsOf(owner)).rows(); }

  TransferConfig cfg_;
  In<T> x_;
  Out<T> y_;
  Shards shards_;
  Symmetric<T, 3> slots_, sums_; ///< one shard of each rank: parts of the own one, and sums
  SignalArray<2, false> arrived_;
  SignalArray<3, false> known_;
};

template <class T> static Kernel twoShot(TransferConfig cfg) {
  return {kSignature, [=](In<T> x, Out<T> y) {
            TwoShots<T> shots(cfg, x, y);
            auto step = [&](auto what) {
              return [&, what](Index i, Index j) { (shots.*what)(i, j); };
            };
            using S = TwoShots<T>;
            sendAndReceive(cfg, shots.largest(), step(&S::sendPart), step(&S::partsArrive),
                           step(&S::add));
            sendAndReceive(cfg, shots.largest(), step(&S::sendSums), step(&S::sumsArrive),
                           step(&S::takeSums));
          }};
}

template <class T> static Kernel twoShotInInboxes(TransferConfig cfg) {
  return {kSignature, [=](In<T> x, Out<T> y) {
            Shards shards(x.rows());
            auto tiled = [&](const auto &view) { return view.tiled(cfg.rows, cfg.columns); };
            Index rows = ceilDiv(shards.size(), cfg.rows), columns = ceilDiv(x.cols(), cfg.columns);
            auto parts = inbox<T>({numRanks(), rows, columns}, {cfg.rows, cfg.columns}, "parts");
            auto totals = inbox<T>({numRanks(), rows, columns}, {cfg.rows, cfg.columns}, "totals");
            auto largest = tiled(shards.of(x, 0)); // no shard has more rows

            for (auto at : largest.tiles())
              for (auto owner : peers(Ring::next)) {
                auto [i, j] = at;
                auto sent = tiled(shards.of(x, owner));
                when(i < sent.rows(), [&] { send(sent(i, j), parts.on(owner)(rank(), i, j)); });
              }
            auto mine = tiled(shards.of(x, rank()));
            auto result = tiled(shards.of(y, rank()));
            for (auto [i, j] : mine.tiles()) {
              Var total = cast<Accumulator<T>>(mine(i, j));
              for (auto peer : peers(Ring::next))
                total += cast<Accumulator<T>>(receive(parts(peer, i, j)));
              Tile sum = cast<T>(total);
              sendToPeers(sum, totals, i, j);
              result(i, j) = sum;
            }
            for (auto at : largest.tiles())
              for (auto owner : peers()) {
                auto [i, j] = at;
                auto received = tiled(shards.of(y, owner));
                when(i < received.rows(), [&] { received(i, j) = receive(totals(owner, i, j)); });
              }
          }};
}

/// The same when copy engines move the data: all parts, and then the sums.
template <class T> class TwoShotsByCopyEngines {
public:
  TwoShotsByCopyEngines(const TransferConfig &cfg, const In<T> &x, const Out<T> &y)
      : cfg_(cfg), x_(x), y_(y), shards_(x.rows()), chunks_(shards_.size(), cfg.rows, cfg.chunks),
        slots_(symmetric<T>({numRanks(), shards_.size(), x.cols()}, "slots")),
        sums_(symmetric<T>({numRanks(), shards_.size(), x.cols()}, "sums")),
        arrived_(signals({numRanks(), chunks_.count()}, "arrived")),
        summed_(signals(chunks_.count(), "summed")),
        known_(signals({numRanks(), chunks_.count()}, "known")),
        turns_(signals(numRanks(), "turns")) {}

  void sendParts() const {
    sendShards(
        chunks_, Ring::next, turns_,
        [&](Index owner, Index q) {
          when(rowsOf(owner, q) > 0,
               [&] { put(part(x_, owner, q), room(slots_.on(owner).at(rank()), owner, q)); });
        },
        [&](Index owner, Index q) {
          when(rowsOf(owner, q) > 0, [&] { notify(arrived_.on(owner)(rank(), q)); });
        });
  }
  void sendSums() const {
    auto ifAny = [&](Index owner, Index q, const auto &what) { when(rowsOf(owner, q) > 0, what); };
    auto ready = [&](Index owner, Index q) {
      auto tiles = tiled(room(sums_.at(rank()), rank(), q));
      auto isOwn = [&] { wait(summed_(q), tiles.rows() * tiles.cols()); };
      auto isPassed = [&] { wait(known_(owner, q), 1); };
      ifAny(owner, q, [&] { when(owner == rank(), isOwn, isPassed); });
    };
    sendAlongRing(
        chunks_, /*comesInChunks=*/true, ready,
        [&](Index peer, Index owner, Index q) {
          ifAny(owner, q, [&] {
            put(room(sums_.at(owner), owner, q), room(sums_.on(peer).at(owner), owner, q));
          });
        },
        [&](Index peer, Index owner, Index q) {
          ifAny(owner, q, [&] { notify(known_.on(peer)(owner, q)); });
        });
  }
  void add() const {
    auto mine = tiled(shards_.of(x_, rank()));
    auto result = tiled(shards_.of(y_, rank()));
    auto sums = tiled(shards_.room(sums_.at(rank()), rank()));
    auto received = tiled(shards_.room(slots_, rank()));
    for (auto [i, j] : mine.tiles()) {
      Index q = chunks_.of(i);
      auto arrives = [&](const Index &peer) { wait(arrived_(peer, q), 1); };
      Tile sum = cast<T>(sumWithPeers(mine(i, j), received, i, j, arrives));
      result(i, j) = sum;
      when(numRanks() > 1, [&] {
        sums(i, j) = sum;
        notify(summed_(q));
      });
    }
  }
  void receiveSums() const {
    for (auto [owner, i, j] : tiled(sums_).tiles(order::ownShardFirst)) {
      auto received = tiled(shards_.of(y_, owner));
      when(owner != rank() && i < received.rows(), [&] {
        wait(known_(owner, chunks_.of(i)), 1);
        received(i, j) = tiled(shards_.room(sums_.at(owner), owner))(i, j);
      });
    }
  }

private:
  auto tiled(const auto &view) const { return view.tiled(cfg_.rows, cfg_.columns); }
  Index rowsOf(Index owner, Index q) const {
    return shards_.rowsOf(owner, chunks_.first(q), chunks_.rows(q));
  }
  auto part(const auto &matrix, Index owner, Index q) const {
    return shards_.of(matrix, owner, chunks_.first(q), chunks_.rows(q));
  }
  auto room(const auto &buffer, Index owner, Index q) const {
    return shards_.room(buffer, owner, chunks_.first(q), chunks_.rows(q));
  }

  TransferConfig cfg_;
  In<T> x_;
  Out<T> y_;
  Shards shards_;
  RowChunks chunks_;
  Symmetric<T, 3> slots_, sums_; ///< one shard of each rank: parts of the own one, and sums
  SignalArray<2, false> arrived_;
  SignalArray<1, false> summed_;
  SignalArray<2, false> known_;
  SignalArray<1, false> turns_;
};

template <class T> static Kernel twoShotByCopyEngines(TransferConfig cfg) {
  return {kSignature, [=](In<T> x, Out<T> y) {
            TwoShotsByCopyEngines<T> shots(cfg, x, y);
            copyEngines().run("exchange", [&] {
              shots.sendParts();
              shots.sendSums();
            });
            shots.add();
            shots.receiveSums();
          }};
}

Kernel allReduce(DType type, const AllReduceConfig &config) {
  checkTransfer("all-reduce", config);
  if (config.twoShot && config.senders > 0)
    throw CompileError(
        fmt::format("all-reduce: senders is {}, expected 0 with shots=two: those that add send on",
                    config.senders));
  return Sums::dispatch(type, "all-reduce", [&]<class T> {
    if (config.copyEngines)
      return config.twoShot ? twoShotByCopyEngines<T>(config) : oneShotByCopyEngines<T>(config);
    if (config.protocol == Protocol::ll)
      return config.twoShot ? twoShotInInboxes<T>(config) : oneShotInInboxes<T>(config);
    return config.twoShot ? twoShot<T>(config) : oneShot<T>(config);
  });
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  return sumOfRanks(run, row, row.row);
}

/// What a rank sends, and what its cores read and write in the end.
static heuristics::Traffic trafficOf(const Problem &p, bool twoShot) {
  int64_t bytes = p["M"] * p["N"] * static_cast<int64_t>(byteSize(p.type));
  if (!twoShot)
    return {.sent = (p.ranks - 1) * bytes, .behind = (p.ranks + 1) * bytes, .ranks = p.ranks};
  // Of each shard a rank sends its part and the sums. It adds the parts of its own one, and copies the last sums.
  return {.sent = 2 * (p.ranks - 1) * bytes / p.ranks,
          .behind = (p.ranks + 1 + 2) * bytes / p.ranks,
          .ranks = p.ranks,
          .shots = 2};
}

static Config defaults(const Problem &p) {
  int64_t bytes = p["M"] * p["N"] * static_cast<int64_t>(byteSize(p.type));
  // Fewer rows than ranks make shards of which some ranks have none.
  bool twoShot =
      p["M"] >= p.ranks && heuristics::takesTwoShots(bytes, p.ranks, p.target, p.calibration);
  int64_t rows = twoShot ? (p["M"] + p.ranks - 1) / p.ranks : p["M"];
  Config config = summedTransfer(p, rows, p["N"], trafficOf(p, twoShot));
  config.add({"shots", twoShot ? 1 : 0});
  return config;
}

KernelEntry allReduceEntry() {
  std::vector<ConfigParameter> parameters = transferParameters();
  for (ConfigParameter &parameter : parameters)
    if (parameter.name == "senders")
      parameter.needs.push_back({"shots", {0}});
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
            return allReduce(type, {transferConfig(config), config["shots"] != 0});
          },
      .shape = {{"M", 256}, {"N", 1024}},
      .testShapes = {{{"M", 1}, {"N", 1}}, {{"M", 7}, {"N", 13}}, {{"M", 32}, {"N", 48}}},
      .benchShapes = {{{"M", 1}, {"N", 1024}}, {{"M", 2048}, {"N", 4096}}},
      .checkCases = {{{{"M", 9}, {"N", 7}},
                      "rows=2,columns=4,engine=cores,protocol=simple,senders=1,batch=2,shots=one"},
                     {{{"M", 9}, {"N", 7}},
                      "rows=1,columns=4,engine=cores,batch=2,stagger=yes,shots=two"},
                     {{{"M", 5}, {"N", 7}}, "rows=2,columns=4,engine=cores,shots=one"},
                     {{{"M", 5}, {"N", 7}}, "rows=2,columns=4,engine=cores,protocol=ll,shots=one"},
                     {{{"M", 9}, {"N", 7}}, "rows=2,columns=4,engine=cores,shots=two"},
                     {{{"M", 7}, {"N", 3}}, "rows=1,columns=4,engine=cores,protocol=ll,shots=two"},
                     {{{"M", 7}, {"N", 3}}, "rows=1,columns=4,engine=cores,shots=two"},
                     {{{"M", 9}, {"N", 7}}, "rows=2,columns=4,engine=copy,chunks=2,shots=two"},
                     {{{"M", 5}, {"N", 7}}, "rows=2,columns=4,engine=copy,chunks=2,shots=one"},
                     {{{"M", 7}, {"N", 3}}, "rows=1,columns=4,engine=copy,chunks=3,shots=two"}},
      .variants = {"rows=2,columns=5,engine=cores,protocol=simple,senders=1,batch=2,shots=one",
                   "shots=two",
                   "rows=2,columns=5,engine=cores,protocol=simple,batch=2,stagger=yes,shots=two",
                   "protocol=ll,engine=cores,shots=one",
                   "rows=2,columns=5,protocol=ll,engine=cores,shots=one",
                   "rows=2,columns=5,protocol=ll,engine=cores,shots=two", "rows=2,columns=5",
                   "rows=2,columns=5,shots=two", "engine=copy,shots=one", "engine=copy,shots=two",
                   "rows=2,columns=5,engine=copy,chunks=3,shots=two"},
      .bytes = [](const Problem &p) { return 1.0 * p["M"] * p["N"] * byteSize(p.type); },
      .baseline = Baseline::copy,
      .collective = Collective::allReduce,
      .reference = reference,
  };
}

} // namespace ditron::kernels
