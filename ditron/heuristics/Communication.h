// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels of several ranks choose: chunks, exchanges, and how many cores move data.
#pragma once
#include "ditron/support/DType.h"
#include "ditron/support/DeviceTraits.h"
#include <cstdint>

namespace ditron::heuristics {

/// What moves, or is summed, at a time.
struct ChunkShape {
  int64_t rows, columns;
};

/// Chunks of a matrix that is moved: from 64 KB on, signals cost nothing.
ChunkShape movedChunk(int64_t rows, int64_t columns, DType type);
/// Chunks of a matrix that is summed: a sum stays in a core's cache while the parts go by.
ChunkShape summedChunk(int64_t rows, int64_t columns);

/// Whether an all-reduce of `bytes` bytes sums shards first and then gathers them: less traffic for
/// one more exchange.
bool takesTwoShots(int64_t bytes);

/// Rows of a tile of `rows` x `columns` that a core sums at a time: they divide the tile's.
int64_t summedRows(int64_t rows, int64_t columns);

/// How many of a rank's cores move data beside those that multiply; 0: all do both.
int64_t communicatingCores(int64_t cores, const DeviceTraits &target);

} // namespace ditron::heuristics
