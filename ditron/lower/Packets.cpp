// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lower/Packets.h"
#include "ditron/core/TileOps.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace ditron::lower {

PacketLayout::PacketLayout(mlir::RankedTensorType tile) {
  constexpr int64_t kGroupBytes = 32, kWordBytes = 4;
  int64_t bytes = core::elementBytes(tile.getElementType()), width = tile.getShape().back();
  run_ = std::min(kGroupBytes / bytes, width & -width);
  words_ = llvm::divideCeil(run_ * bytes, kWordBytes);
  packets_ = llvm::divideCeil(words_, kPacketData);
  groups_ = tile.getNumElements() / run_;
}

} // namespace ditron::lower
