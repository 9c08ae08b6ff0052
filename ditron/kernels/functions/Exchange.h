// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions that move one part of a matrix from every rank to every other one.
#pragma once
#include "ditron/kernels/functions/ShardCopies.h"
#include "ditron/kernels/kernels.h"
#include "ditron/lang/Inbox.h"

namespace ditron::kernels {

/// Part s of `y`, [R*M,N], becomes what rank s has for this rank: `partFor(peer)`, [M,N], is what
/// this rank has for a peer. Cores push it batch by batch, to all peers at once; what is for the rank
/// itself is copied.
template <class T>
void exchangeByCores(const TransferConfig &cfg, const auto &partFor, const Out<T> &y) {
  auto tiled = [&](const auto &view) { return view.tiled(cfg.rows, cfg.columns); };
  auto batched = [&](const auto &view) { return view.tiled(cfg.rows * cfg.batch, cfg.columns); };
  auto parts = y.split(numRanks());
  auto result = tiled(parts);
  auto own = tiled(partFor(rank()));
  auto slots = symmetric<T>({numRanks(), parts.rows(), y.cols()}, "slots");
  auto received = tiled(slots);
  auto batches = batched(parts.at(0)); // as of all parts
  auto arrived = signals({numRanks(), batches.rows(), batches.cols()}, "arrived");

  auto send = [&](Index i, Index j) {
    for (auto peer : peers()) {
      put(batched(partFor(peer))(i, j), batched(slots.on(peer))(rank(), i, j));
      notify(arrived.on(peer)(rank(), i, j));
    }
  };
  auto receive = [&](Index i, Index j) {
    eachOfBatch(cfg, i, own.rows(), [&](Index row) { result(rank(), row, j) = own(row, j); });
    for (auto peer : peers()) {
      wait(arrived(peer, i, j), 1);
      eachOfBatch(cfg, i, own.rows(),
                  [&](Index row) { result(peer, row, j) = received(peer, row, j); });
    }
  };
  auto arrives = [&](Index i, Index j) {
    for (auto peer : peers())
      wait(arrived(peer, i, j), 1);
  };
  sendAndReceive(cfg, batches, send, arrives, receive);
}

/// The same in inboxes: for few bytes.
template <class T>
void exchangeInInboxes(const TransferConfig &cfg, const auto &partFor, const Out<T> &y) {
  auto tiled = [&](const auto &view) { return view.tiled(cfg.rows, cfg.columns); };
  auto result = tiled(y.split(numRanks()));
  auto own = tiled(partFor(rank()));
  auto box = inbox<T>({numRanks(), result.rows(), result.cols()}, {cfg.rows, cfg.columns}, "box");
  for (auto [i, j] : own.tiles()) {
    for (auto peer : peers())
      send(tiled(partFor(peer))(i, j), box.on(peer)(rank(), i, j));
    result(rank(), i, j) = own(i, j);
  }
  for (auto [i, j] : own.tiles())
    for (auto peer : peers())
      result(peer, i, j) = receive(box(peer, i, j));
}

/// The same by copy engines, to one peer after the other: to the previous one first, since it takes
/// this rank's part first. Cores copy a chunk while the next one moves.
template <class T>
void exchangeByCopyEngines(const TransferConfig &cfg, const auto &partFor, const Out<T> &y) {
  auto tiled = [&](const auto &view) { return view.tiled(cfg.rows, cfg.columns); };
  auto parts = y.split(numRanks());
  auto result = tiled(parts);
  auto own = tiled(partFor(rank()));
  auto slots = symmetric<T>({numRanks(), parts.rows(), y.cols()}, "slots");
  auto received = tiled(slots);
  RowChunks chunks(slots.rows(), cfg.rows, cfg.chunks);
  auto arrived = signals({numRanks(), chunks.count()}, "arrived");
  auto turns = signals(numRanks(), "turns");

  copyEngines().run("send", [&] {
    sendShards(
        chunks, Ring::previous, turns,
        [&](Index peer, Index q) {
          put(chunks.slice(partFor(peer), q), chunks.slice(slots.on(peer).at(rank()), q));
        },
        [&](Index peer, Index q) { notify(arrived.on(peer)(rank(), q)); });
  });
  for (auto at : result.tiles(order::ownShardFirst)) {
    auto [s, i, j] = at;
    auto keep = [&] { result(s, i, j) = own(i, j); };
    auto take = [&] {
      wait(arrived(s, chunks.of(i)), 1);
      result(s, i, j) = received(s, i, j);
    };
    when(s == rank(), keep, take);
  }
}

/// One of the three.
template <class T> void exchange(const TransferConfig &cfg, const auto &partFor, const Out<T> &y) {
  if (cfg.copyEngines)
    exchangeByCopyEngines<T>(cfg, partFor, y);
  else if (cfg.protocol == Protocol::ll)
    exchangeInInboxes<T>(cfg, partFor, y);
  else
    exchangeByCores<T>(cfg, partFor, y);
}

} // namespace ditron::kernels
