// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The root's matrix on every rank. Cores of the root push few bytes to all at once. More bytes go in two shots, a part
// to each of the others, which send it on to the rest. Copy engines move them along a chain, so that no link carries them
// twice: each rank sends chunk q on to the next one while chunk q+1 arrives.
#include "ditron/heuristics/Communication.h"
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include "ditron/lang/Inbox.h"
#include <algorithm>

namespace ditron::kernels {

/// The batches of a matrix, which are dealt to the ranks behind the root, in two shots.
struct Owners {
  int root;
  Index columns; ///< of batches

  Index of(Index i, Index j) const {
    return (root + 1 + (i * columns + j) % max(numRanks() - 1, 1)) % numRanks();
  }
};

/// The root pushes batches to all others at once, or, in two shots, each to the one that owns it, who pushes it to the
/// rest as soon as it is there.
template <class T> static void byCores(const BroadcastConfig &cfg, In<T> x, Out<T> y) {
  auto mine = x.tiled(cfg.rows, cfg.columns);
  auto result = y.tiled(cfg.rows, cfg.columns);
  auto slot = symmetric<T>({x.rows(), x.cols()}, "slot");
  auto received = slot.tiled(cfg.rows, cfg.columns);
  auto batched = [&](const auto &view) { return view.tiled(cfg.rows * cfg.batch, cfg.columns); };
  auto batches = batched(x);
  auto arrived = signals({batches.rows(), batches.cols()}, "arrived");
  Owners owners{cfg.root, batches.cols()};
  auto isRoot = rank() == cfg.root;

  auto push = [&](const auto &from, Index peer, Index i, Index j) {
    put(batched(from)(i, j), batched(slot.on(peer))(i, j));
    notify(arrived.on(peer)(i, j));
  };
  auto sendToAll = [&](Index i, Index j) {
    when(isRoot, [&] {
      for (auto peer : peers())
        push(x, peer, i, j);
    });
  };
  auto sendToOwner = [&](Index i, Index j) {
    auto owner = owners.of(i, j);
    auto toOwner = [&] { when(owner != rank(), [&] { push(x, owner, i, j); }); }; // it may be alone
    auto sendOn = [&] {
      when(owner == rank(), [&] {
        wait(arrived(i, j), 1);
        for (auto peer : peers())
          when(peer != cfg.root, [&] { push(slot, peer, i, j); });
      });
    };
    when(isRoot, toOwner, sendOn);
  };
  auto arrives = [&](Index i, Index j) { when(!isRoot, [&] { wait(arrived(i, j), 1); }); };
  auto receive = [&](Index i, Index j) {
    auto copy = [&](const auto &from) {
      eachOfBatch(cfg, i, result.rows(), [&](Index row) { result(row, j) = from(row, j); });
    };
    auto take = [&] {
      wait(arrived(i, j), 1);
      copy(received);
    };
    when(isRoot, [&] { copy(mine); }, take);
  };
  if (cfg.twoShot)
    sendAndReceive(cfg, batches, sendToOwner, arrives, receive);
  else
    sendAndReceive(cfg, batches, sendToAll, arrives, receive);
}

template <class T> static void inInboxes(const BroadcastConfig &cfg, In<T> x, Out<T> y) {
  auto mine = x.tiled(cfg.rows, cfg.columns);
  auto result = y.tiled(cfg.rows, cfg.columns);
  auto box = inbox<T>({mine.rows(), mine.cols()}, {cfg.rows, cfg.columns}, "box");
  when(rank() == cfg.root, [&] {
    for (auto [i, j] : mine.tiles()) {
      Tile tile = mine(i, j);
      for (auto peer : peers())
        send(tile, box.on(peer)(i, j));
      result(i, j) = tile;
    }
  });
  when(rank() != cfg.root, [&] {
    for (auto [i, j] : result.tiles())
      result(i, j) = receive(box(i, j));
  });
}

/// In two shots: a part of the tiles goes to each rank, that of the rank behind the root first.
template <class T> static void inParts(const BroadcastConfig &cfg, In<T> x, Out<T> y) {
  auto mine = x.tiled(cfg.rows, cfg.columns);
  auto result = y.tiled(cfg.rows, cfg.columns);
  auto box = inbox<T>({mine.rows(), mine.cols()}, {cfg.rows, cfg.columns}, "box");
  auto columns = mine.cols(), tiles = mine.rows() * columns;
  auto size = ceilDiv(tiles, max(numRanks() - 1, 1));
  auto send = [&](const Tile &tile, Index peer, Index number) {
    ditron::send(tile, box.on(peer)(number / columns, number % columns));
  };
  auto receive = [&](Index number) {
    return ditron::receive(box(number / columns, number % columns));
  };
  auto store = [&](Index number) -> decltype(auto) {
    return result(number / columns, number % columns);
  };

  when(rank() == cfg.root, [&] {
    for (auto number : range(coreId(), tiles, numCores())) {
      Tile tile = mine(number / columns, number % columns);
      auto owner = (cfg.root + 1 + number / size) % numRanks();
      when(owner != cfg.root, [&] { send(tile, owner, number); }); // it may be alone
      store(number) = tile;
    }
  });
  when(rank() != cfg.root, [&] {
    auto part = Shard((rank() + numRanks() - cfg.root - 1) % numRanks(), size, tiles);
    for (auto n : range(coreId(), part.count, numCores())) {
      auto number = part.first + n;
      Tile tile = receive(number);
      for (auto peer : peers())
        when(peer != cfg.root, [&] { send(tile, peer, number); });
      store(number) = tile;
    }
    for (auto n : range(coreId(), tiles - part.count, numCores())) {
      auto number = select(n < part.first, n, n + part.count);
      store(number) = receive(number);
    }
  });
}

template <class T> static void byCopyEngines(const BroadcastConfig &cfg, In<T> x, Out<T> y) {
  auto mine = x.tiled(cfg.rows, cfg.columns);
  auto result = y.tiled(cfg.rows, cfg.columns);
  auto slot = symmetric<T>({x.rows(), x.cols()}, "slot");
  auto received = slot.tiled(cfg.rows, cfg.columns);
  RowChunks chunks(x.rows(), cfg.rows, cfg.chunks);
  auto arrived = signals(chunks.count(), "arrived");
  auto next = (rank() + 1) % numRanks();
  auto isRoot = rank() == cfg.root, isLast = next == cfg.root % numRanks();

  copyEngines().run("forward", [&] {
    when(!isLast, [&] {
      for (auto q : range(chunks.used())) {
        auto send = [&] { put(chunks.slice(x, q), chunks.slice(slot.on(next), q)); };
        auto forward = [&] {
          wait(arrived(q), 1);
          put(chunks.slice(slot, q), chunks.slice(slot.on(next), q));
        };
        when(isRoot, send, forward);
        notify(arrived.on(next)(q));
      }
    });
  });
  for (auto at : result.tiles()) {
    auto [i, j] = at;
    auto keep = [&] { result(i, j) = mine(i, j); };
    auto receive = [&] {
      wait(arrived(chunks.of(i)), 1);
      result(i, j) = received(i, j);
    };
    when(isRoot, keep, receive);
  }
}

Kernel broadcast(DType type, const BroadcastConfig &config) {
  checkTransfer("broadcast", config);
  if (config.twoShot && config.copyEngines)
    throw CompileError("broadcast: shots is two, expected one where copy engines move the data");
  return Any::dispatch(type, "broadcast", [&]<class T> {
    return Kernel("broadcast(x[M,N]) -> y[M,N]", [=](In<T> x, Out<T> y) {
      require(numRanks() > config.root, "the root is rank {}, expected one below {}",
              {config.root, numRanks()});
      if (config.copyEngines)
        byCopyEngines<T>(config, x, y);
      else if (config.protocol == Protocol::ll)
        config.twoShot ? inParts<T>(config, x, y) : inInboxes<T>(config, x, y);
      else
        byCores<T>(config, x, y);
    });
  });
}

/// What is sent on goes in pieces of its own.
static void setPieces(const Problem &p, Config &config) {
  auto [tile, senders] = heuristics::chooseForwarding(p["M"], p["N"], p.target.sms, p.type);
  config.set("rows", tile.rows);
  config.set("columns", tile.columns);
  config.set("senders", senders.cores);
  config.set("batch", senders.batch);
  config.set("stagger", 0);
}

/// Copy engines of a rank send to one other, and cores of the root to all, or in two shots a part to each. Behind the
/// last chunk come its way along the chain and its copy.
static Config defaults(const Problem &p) {
  int64_t bytes = p["M"] * p["N"] * static_cast<int64_t>(byteSize(p.type));
  bool isPartly = p.target.isGpu() && heuristics::takesParts(bytes, p.ranks, p.calibration);
  int64_t others = std::max<int64_t>(1, p.ranks - 1);
  heuristics::Traffic traffic{.sent = bytes,
                              .behind = 2 * bytes,
                              .ranks = std::min<int64_t>(2, p.ranks),
                              .byCores = others * bytes};
  if (isPartly) { // the root sends each byte once, and who has it to the rest
    traffic.ranks = p.ranks;
    traffic.byCores = bytes + (others - 1) * bytes / others;
    traffic.needsCores = true;
  }
  Config config = movedTransfer(p, p["M"], p["N"], traffic);
  config.add({"root", 0});
  config.add({"shots", isPartly && config["engine"] == 0 ? 1 : 0});
  if (config["shots"] && config["protocol"] == 0)
    setPieces(p, config);
  return config;
}

static std::vector<ConfigParameter> parameters() {
  std::vector<ConfigParameter> result = transferParameters();
  result.push_back({"root", "the rank whose matrix it is", {}, {}, 0});
  result.push_back(
      {.name = "shots",
       .summary = "exchanges: everything to all others, or a part to each, which it sends on",
       .candidates = {0, 1},
       .names = {"one", "two"},
       .minimum = 0,
       .needs = {{"engine", {0}}},
       .without = 0});
  return result;
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  std::vector<Expected> result;
  for (int64_t column : row.columns)
    result.push_back(Expected::exact(run.inputs.at(run.config["root"], 0, row.row, column)));
  return result;
}

KernelEntry broadcastEntry() {
  KernelEntry entry =
      matrixEntry("broadcast", "one rank's matrix on every rank", Collective::broadcast);
  entry.parameters = parameters();
  entry.defaults = defaults;
  entry.make = [](DType type, const Config &config) {
    return broadcast(type,
                     {transferConfig(config), config.get("root"), config.valueOr("shots", 0) != 0});
  };
  entry.checkCases.push_back(
      {{{"M", 9}, {"N", 7}}, "rows=2,columns=4,engine=cores,protocol=ll,shots=two"});
  entry.checkCases.push_back(
      {{{"M", 9}, {"N", 7}}, "rows=2,columns=4,engine=cores,batch=2,stagger=yes,shots=two"});
  entry.variants.emplace_back("rows=2,columns=5,protocol=ll,engine=cores,shots=two");
  entry.variants.emplace_back("rows=2,columns=5,protocol=simple,engine=cores,shots=two");
  entry.reference = reference;
  return entry;
}

} // namespace ditron::kernels
