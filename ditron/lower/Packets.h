// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a tile lies in a slot of an inbox, where a receiver recognises each access of the sender by
// a flag in it.
//
// A packet is 16 bytes, which one thread writes and another one reads by one access each: 12 bytes
// of data, and the flag of the launch. So nothing orders the packets of a tile, and nobody waits for
// a store before the next one. The elements of a tile form groups: runs of neighbours of a row, 32
// bytes where the row divides into such runs, else a smaller power of two. A group takes 3 packets,
// or 2 for 16 bytes, or 1. Packet p of all groups come before packet p + 1 of any, and the groups
// are in row-major order: the lanes of a warp, which hold neighbouring groups, write and read
// neighbouring packets. Nothing of it depends on the number of threads.
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include <cstdint>

namespace ditron::lower {

constexpr int64_t kPacketBytes = 16, kPacketWords = 4, kPacketData = 3; ///< words are of 4 bytes

/// The packets of a tile, whose elements have 1 byte or more.
class PacketLayout {
public:
  explicit PacketLayout(mlir::RankedTensorType tile);

  int64_t run() const { return run_; }         ///< elements of a group
  int64_t words() const { return words_; }     ///< of a group; the last one may be filled partly
  int64_t packets() const { return packets_; } ///< of a group
  int64_t groups() const { return groups_; }
  int64_t all() const { return groups_ * packets_; } ///< packets of the tile

private:
  int64_t run_, words_, packets_, groups_;
};

} // namespace ditron::lower
