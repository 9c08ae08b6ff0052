// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels of several ranks choose: chunks, exchanges, and how many cores move data.
#pragma once
#include "ditron/heuristics/Calibration.h"
#include "ditron/support/DType.h"
#include "ditron/support/DeviceTraits.h"
#include <cstdint>

namespace ditron::heuristics {

/// What moves, or is summed, at a time.
struct ChunkShape {
  int64_t rows, columns;
};

/// Bytes of a chunk that is moved: signals cost nothing beside it.
inline constexpr int64_t kMovedBytes = 65536;
/// Chunks of a matrix that is moved.
ChunkShape movedChunk(int64_t rows, int64_t columns, DType type);
/// Chunks of a matrix that is summed: a sum stays in a core's cache while the parts go by.
ChunkShape summedChunk(int64_t rows, int64_t columns);

/// A collective, as one rank sees it. Bytes are 1 or more, or 0 where there are no other ranks.
struct Traffic {
  int64_t sent; ///< bytes that the rank sends to others
  /// Bytes that its cores read and write at home when the last shard has arrived.
  int64_t behind;
  int64_t ranks = 1; ///< that take part
  int64_t shots = 1; ///< exchanges, one behind the other
  /// Bytes that cores send where copy engines send fewer, each rank on to the next; 0: as many.
  int64_t byCores = 0;
  bool needsCores = false; ///< copy engines have no such form
};

/// How the bytes of a collective are moved.
struct TransferChoice {
  bool byCopyEngines = false;
  bool isLowLatency = false; ///< by cores, each access with a flag: fewer trips, more bytes
  int64_t chunks = 1;        ///< of the last shard, that copy engines send one by one
};

/// Copy engines move many bytes: they fill the link, and take some microseconds a launch and a copy.
/// The last shard is worked on chunk by chunk beside them: the chunks are as many as make the sum of
/// the copies' latencies and of the work on the last chunk least.
TransferChoice chooseTransfer(const Traffic &traffic, const Calibration &calibration);

/// How cores send many chunks.
struct Senders {
  int64_t cores = 0;     ///< that only send, while the others receive; 0: all do both, in turn
  int64_t batch = 1;     ///< chunks that one sends at a time, before it tells
  bool stagger = false;  ///< half of the cores begin later
  bool inHalves = false; ///< with chunks of half the size
};

/// For a matrix that is sent to each of the other ranks in `chunks`, on a GPU of `cores`: about half
/// of the cores fill the link to another rank where each has several puts. To several ranks all cores send. What a
/// core has goes at once, if that is two chunks, else in smaller ones. As measured on four H200s.
Senders chooseSenders(int64_t chunks, int64_t cores, int64_t ranks);

/// Chunks of a matrix that cores of a GPU move or sum: about one for each of `cores`, of 2048 to
/// `most` elements, in powers of two.
ChunkShape spreadChunk(int64_t rows, int64_t columns, int64_t cores, int64_t most);

/// How ranks send on what they receive.
struct Forwarding {
  ChunkShape chunk;
  Senders senders; ///< they wait for what they send on, while the other cores receive
};

/// For a matrix of which each rank sends a part on to the rest, on a GPU of `cores`: two chunks for each core that sends
/// or more, so that the first ones are on their way to the rest while the root sends the others. As measured on four H200s.
Forwarding chooseForwarding(int64_t rows, int64_t columns, int64_t cores, DType type);

/// Whether the root of a broadcast sends by cores a part of `bytes` bytes to each of the others, which send it on: less
/// traffic for one more exchange.
bool takesParts(int64_t bytes, int64_t ranks, const Calibration &calibration);

/// Whether an all-reduce of `bytes` bytes sums shards first and then gathers them: less traffic for
/// one more exchange, unless there are two ranks, and on CPUs fewer additions.
bool takesTwoShots(int64_t bytes, int64_t ranks, const DeviceTraits &target,
                   const Calibration &calibration);

/// Rows of a tile of `rows` x `columns` that a core sums at a time: they divide the tile's.
int64_t summedRows(int64_t rows, int64_t columns);

/// How many of a rank's cores move data beside those that multiply; 0: all do both.
int64_t communicatingCores(int64_t cores, const DeviceTraits &target);

} // namespace ditron::heuristics
