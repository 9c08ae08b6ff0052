// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/functions/RaggedBlocks.h"
#include <bit>

namespace ditron::kernels {

// Every tile does this: in few instructions, most of them of 32 bits.
Block findBlock(Index number, Index parts, int height, const std::function<Tile(Index)> &sizeOf) {
  Tile wanted = toTile(number);
  Var part = toTile(0), blocksBefore = toTile(0), first = cast<i64>(toTile(0)); // of the block
  Var blocks = toTile(0), rows = cast<i64>(toTile(0)), least = toTile(0); // of the parts so far
  for (auto p : range(parts)) {
    Tile size = sizeOf(p), most = size + (height - 1);
    auto bits = std::countr_zero(static_cast<unsigned>(height));
    blocks += std::has_single_bit(static_cast<unsigned>(height)) ? most >> bits : most / height;
    rows += cast<i64>(size);
    least = minimum(least, size);
    Tile isPast = wanted >= blocks;
    part = select(isPast, toTile(p + 1), part);
    first = select(isPast, rows, first);
    blocksBefore = select(isPast, blocks, blocksBefore);
  }
  Index smallest = toIndex(least);
  require(smallest >= 0, "one of {} parts has {} rows, expected 0 or more", {parts, smallest});
  return {toIndex(part), toIndex(first), number - toIndex(blocksBefore)};
}

Index mostBlocks(Index rows, Index parts, int height) { return rows / height + parts; }

} // namespace ditron::kernels
