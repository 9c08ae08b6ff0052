// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions for roles of copy engines that move shards between several ranks. Two ranks do not send to the same one at
// a time, where they would share its link while another one's is idle (docs/rationale/collectives.md).
//
// Each takes `put(...)`, which puts a chunk of a shard, and `tell(...)`, which notifies that it is there. A rank is told of a
// chunk as soon as it is there where it can work on it meanwhile, and of all at once otherwise: they are then one copy.
#pragma once
#include "ditron/kernels/functions/AcrossRanks.h"

namespace ditron::kernels {

/// One shard to one rank: `put(q)` and `tell(q)` for chunk q.
inline void sendShard(const RowChunks &chunks, const Bool &isToldOfEach, const auto &put,
                      const auto &tell) {
  for (auto q : range(chunks.used())) {
    put(q);
    when(isToldOfEach, [&] { tell(q); });
  }
  when(!isToldOfEach, [&] {
    for (auto q : range(chunks.used()))
      tell(q);
  });
}

/// A shard to each of the other ranks, one after the other: `put(peer, q)` and `tell(peer, q)`. A rank begins with the next
/// peer when the rank that sent to that one is through; `turns` has a counter for each rank and says so. The last peer works
/// on a chunk while the next one moves.
inline void sendShards(const RowChunks &chunks, Ring way, const SignalArray<1, false> &turns,
                       const auto &put, const auto &tell) {
  Index ranks = numRanks();
  auto behind = [&](Index steps, Ring to) {
    return (rank() + (to == Ring::next ? steps : ranks - steps)) % ranks;
  };
  Ring back = way == Ring::next ? Ring::previous : Ring::next;
  for (auto step : range(1, ranks)) {
    Index peer = behind(step, way);
    when(step > 1, [&] { wait(turns(step - 1), 1); });
    sendShard(
        chunks, step == ranks - 1, [&](Index q) { put(peer, q); }, [&](Index q) { tell(peer, q); });
    when(step < ranks - 1, [&] { notify(turns.on(behind(1, back))(step)); });
  }
}

/// A shard of every rank to all, along a ring: a rank sends its own one to the previous rank, `put(peer, shard, q)` and
/// `tell(peer, shard, q)`, and then sends on what it is sent, that of the next rank first. `ready(shard, q)` waits until a
/// chunk is there; those of the own shard go one by one if it `comesInChunks`. The last shard is worked on chunk by chunk.
inline void sendAlongRing(const RowChunks &chunks, bool comesInChunks, const auto &ready,
                          const auto &put, const auto &tell) {
  Index peer = (rank() + numRanks() - 1) % numRanks();
  for (auto step : range(numRanks() - 1)) {
    Index shard = (rank() + step) % numRanks();
    Bool isCut = step == numRanks() - 2;
    if (comesInChunks)
      isCut = isCut || step == 0;
    when(!isCut, [&] {
      for (auto q : range(chunks.used()))
        ready(shard, q);
    });
    sendShard(
        chunks, isCut,
        [&](Index q) {
          when(isCut, [&] { ready(shard, q); });
          put(peer, shard, q);
        },
        [&](Index q) { tell(peer, shard, q); });
  }
}

/// The same chunk by chunk: one goes all the way before the next one begins.
inline void sendChunksAlongRing(const RowChunks &chunks, const auto &ready, const auto &put,
                                const auto &tell) {
  Index peer = (rank() + numRanks() - 1) % numRanks();
  for (auto q : range(chunks.used()))
    for (auto step : range(numRanks() - 1)) {
      Index shard = (rank() + step) % numRanks();
      ready(shard, q);
      put(peer, shard, q);
      tell(peer, shard, q);
    }
}

} // namespace ditron::kernels
