// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/analysis/Receives.h"
#include "ditron/lower/Packets.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include <bit>

using namespace mlir;

namespace ditron::gpu {

int64_t packetsOfThread(RankedTensorType tile) {
  lower::PacketLayout layout(tile);
  Distribution places = *Distribution::of(core::layoutOf(tile), shapeOf(tile));
  return places.registers() / layout.run() * layout.packets();
}

int64_t threadsFor(RankedTensorType tile) {
  return static_cast<int64_t>(
      std::bit_ceil(static_cast<uint64_t>(lower::PacketLayout(tile).all())));
}

bool areSpread(Operation *op, ArrayRef<RankedTensorType> tiles) {
  constexpr int64_t kFewestLanes = 32, kWord = 32; // of any target; bits
  int64_t threads = warpsOf(op) * kFewestLanes, waiting = 0;
  for (RankedTensorType tile : tiles) {
    lower::PacketLayout layout(tile);
    bool isHeldTwice = packetsOfThread(tile) * threads > layout.all();
    int64_t bits = tile.getElementTypeBitWidth();
    bool isOfWords = bits >= 8 && layout.run() * bits % kWord == 0;
    if (tile != tiles.front() || !isHeldTwice || !isOfWords)
      return false;
    waiting += threadsFor(tile);
  }
  return waiting <= threads;
}

} // namespace ditron::gpu
