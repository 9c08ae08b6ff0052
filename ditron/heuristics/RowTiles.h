// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of memory-bound kernels: of whole rows, of elements, of heads.
#pragma once
#include "ditron/support/DType.h"
#include "ditron/support/DeviceTraits.h"
#include <cstdint>

namespace ditron::heuristics {

/// T rows of H elements.
struct RowShape {
  int64_t T, H;
  DType type;
};

struct RowTile {
  int64_t rows, width;
};

/// Rows that fit are read once: one tile a row where the row and what is computed from it stay in a
/// CPU core's first-level cache, or in the registers of a CTA.
RowTile rowTile(const RowShape &shape, const DeviceTraits &target);

/// The same for a kernel that need not have a whole row: as many elements whatever H is.
RowTile elementTile(const RowShape &shape, const DeviceTraits &target);

/// Rows of which cores look at parts: the elements of a tile, and how many tiles are a part; 0: all are.
struct PartTile {
  int64_t width, block;
};
/// As many parts as keep all of `cores` busy, where there are few rows. On a GPU as wide tiles as most SMs
/// get one of, for each thread to read several times 16 bytes; on a CPU columns of a tile, and what is known
/// of each, stay in the first-level cache.
PartTile partTile(const RowShape &shape, int64_t cores, const DeviceTraits &target);

/// Elements of a tile of N: long enough for the prefetchers of a CPU, of which every one of `cores`
/// gets several.
int64_t vectorTile(int64_t N, int64_t cores, const DeviceTraits &target);

/// A token's `heads` of `width` pairs: as many as make a tile worth its overhead on a CPU, and as a
/// CTA has registers for.
RowTile headTile(int64_t heads, int64_t width, DType type, const DeviceTraits &target);

/// A product of B rows x of K elements by N rows of W: the tile of y, and the terms of a step.
struct GemvShape {
  int64_t B, N, K;
  DType type;
  int64_t cores;
  bool isPacked = false; ///< W is in blocks
  bool isExact = false;  ///< products are of f32 whatever W is
  bool isGated = false;  ///< W has twice the rows
  bool isNormed = false; ///< x is normalised
  bool isLong = false;   ///< for a kernel that streams long rows of W
};
struct GemvTile {
  int64_t m, n, k;
  bool byElements = false; ///< else by products of tiles
  int64_t sharers = 1;     ///< cores that share the terms of a tile
  int64_t together = 1;    ///< tiles, one beside the other, that a core computes together
};
/// On a CPU whole rows of W, where they are not long, so that each is read on end. The terms of a step
/// do not depend on the rows of x: sums have the same bits whatever their number.
GemvTile gemvTile(const GemvShape &shape, const DeviceTraits &target);

} // namespace ditron::heuristics
