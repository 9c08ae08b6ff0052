// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From every rank to the next one, as between the stages of a pipeline. The last rank sends nowhere,
// and the first one receives nothing; as a ring, the last one sends to the first.
#include "ditron/kernels/Parameters.h"
#include "ditron/kernels/Registry.h"
#include "ditron/kernels/functions/AcrossRanks.h"
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include "ditron/lang/Inbox.h"

namespace ditron::kernels {

/// Who sends to whom.
struct Neighbours {
  Index next = (rank() + 1) % numRanks();
  Index previous = (rank() + numRanks() - 1) % numRanks();
  Bool sends, receives;

  explicit Neighbours(bool ring)
      : sends(ring ? numRanks() > 1 : rank() + 1 < numRanks()),
        receives(ring ? numRanks() > 1 : rank() > 0) {}
};

template <class T> static void byCores(const SendReceiveConfig &cfg, In<T> x, Out<T> y) {
  int height = cfg.rows * cfg.batch;
  auto batches = x.tiled(height, cfg.columns);
  auto result = y.tiled(cfg.rows, cfg.columns);
  auto slot = symmetric<T>({x.rows(), x.cols()}, "slot");
  auto received = slot.tiled(cfg.rows, cfg.columns);
  auto arrived = signals({batches.rows(), batches.cols()}, "arrived");
  Neighbours ranks(cfg.ring);

  auto send = [&](Index i, Index j) {
    when(ranks.sends, [&] {
      put(batches(i, j), slot.on(ranks.next).tiled(height, cfg.columns)(i, j));
      notify(arrived.on(ranks.next)(i, j));
    });
  };
  auto arrives = [&](Index i, Index j) { when(ranks.receives, [&] { wait(arrived(i, j), 1); }); };
  auto receive = [&](Index i, Index j) {
    arrives(i, j);
    when(ranks.receives, [&] {
      eachOfBatch(cfg, i, result.rows(), [&](Index row) { result(row, j) = received(row, j); });
    });
  };
  sendAndReceive(cfg, batches, send, arrives, receive);
}

template <class T> static void inInboxes(const SendReceiveConfig &cfg, In<T> x, Out<T> y) {
  auto mine = x.tiled(cfg.rows, cfg.columns);
  auto result = y.tiled(cfg.rows, cfg.columns);
  auto box = inbox<T>({mine.rows(), mine.cols()}, {cfg.rows, cfg.columns}, "box");
  Neighbours ranks(cfg.ring);
  when(ranks.sends, [&] {
    for (auto [i, j] : mine.tiles())
      send(mine(i, j), box.on(ranks.next)(i, j));
  });
  when(ranks.receives, [&] {
    for (auto [i, j] : result.tiles())
      result(i, j) = receive(box(i, j));
  });
}

template <class T> static void byCopyEngines(const SendReceiveConfig &cfg, In<T> x, Out<T> y) {
  auto result = y.tiled(cfg.rows, cfg.columns);
  auto slot = symmetric<T>({x.rows(), x.cols()}, "slot");
  auto received = slot.tiled(cfg.rows, cfg.columns);
  RowChunks chunks(x.rows(), cfg.rows, cfg.chunks);
  auto arrived = signals(chunks.count(), "arrived");
  Neighbours ranks(cfg.ring);

  copyEngines().run("send", [&] {
    when(ranks.sends, [&] {
      for (auto q : range(chunks.used())) {
        put(chunks.slice(x, q), chunks.slice(slot.on(ranks.next), q));
        notify(arrived.on(ranks.next)(q));
      }
    });
  });
  when(ranks.receives, [&] {
    for (auto [i, j] : result.tiles()) {
      wait(arrived(chunks.of(i)), 1);
      result(i, j) = received(i, j);
    }
  });
}

/// A ring of one rank.
template <class T> static void toItself(const SendReceiveConfig &cfg, In<T> x, Out<T> y) {
  auto mine = x.tiled(cfg.rows, cfg.columns);
  auto result = y.tiled(cfg.rows, cfg.columns);
  when(numRanks() == 1, [&] {
    for (auto [i, j] : result.tiles())
      result(i, j) = mine(i, j);
  });
}

Kernel sendReceive(DType type, const SendReceiveConfig &config) {
  checkTransfer("send-recv", config);
  return Any::dispatch(type, "send-recv", [&]<class T> {
    return Kernel("send-recv(x[M,N]) -> y[M,N]", [=](In<T> x, Out<T> y) {
      if (config.copyEngines)
        byCopyEngines<T>(config, x, y);
      else if (config.protocol == Protocol::ll)
        inInboxes<T>(config, x, y);
      else
        byCores<T>(config, x, y);
      if (config.ring)
        toItself<T>(config, x, y);
    });
  });
}

static Config defaults(const Problem &p) {
  int64_t bytes = p["M"] * p["N"] * static_cast<int64_t>(byteSize(p.type));
  Config config =
      movedTransfer(p, p["M"], p["N"],
                    {.sent = bytes, .behind = 2 * bytes, .ranks = std::min<int64_t>(2, p.ranks)});
  config.add({"ring", 1});
  return config;
}

static std::vector<ConfigParameter> parameters() {
  std::vector<ConfigParameter> result = transferParameters();
  result.push_back({"ring", "the last rank sends to the first", {}, {"no", "yes"}});
  return result;
}

static std::vector<Expected> reference(const Case &run, const OutputRow &row) {
  int64_t R = run.problem.ranks, from = (row.rank + R - 1) % R;
  bool hasSender = row.rank > 0 || run.config["ring"] != 0;
  std::vector<Expected> result;
  for (int64_t column : row.columns)
    result.push_back(hasSender ? Expected::exact(run.inputs.at(from, 0, row.row, column))
                               : Expected::undefined());
  return result;
}

/// Round the ring, and along the line.
static std::vector<CheckCase> checkCases() {
  std::vector<CheckCase> cases = transferCheckCases(",ring=yes");
  for (CheckCase &one : transferCheckCases(",ring=no"))
    cases.push_back(std::move(one));
  return cases;
}

KernelEntry sendReceiveEntry() {
  KernelEntry entry =
      matrixEntry("send-recv", "from every rank to the next one", Collective::sendReceive);
  entry.parameters = parameters();
  entry.defaults = defaults;
  entry.make = [](DType type, const Config &config) {
    return sendReceive(type, {transferConfig(config), config["ring"] != 0});
  };
  entry.checkCases = checkCases();
  entry.reference = reference;
  return entry;
}

} // namespace ditron::kernels
