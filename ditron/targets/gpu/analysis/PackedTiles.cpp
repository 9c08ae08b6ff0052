// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/analysis/PackedTiles.h"
#include "ditron/device/DistOps.h"
#include <numeric>

using namespace mlir;

namespace ditron::gpu {

std::optional<int64_t> packedNumber(Operation *op) {
  auto number = op->getAttrOfType<IntegerAttr>(device::kPackedAttr);
  return number ? std::optional(number.getInt()) : std::nullopt;
}

PackedTiles packedTiles(func::FuncOp function) {
  PackedTiles tiles;
  function.walk([&](Operation *op) {
    if (auto number = packedNumber(op)) {
      auto store = dyn_cast<core::StoreOp>(op);
      tiles[*number].push_back(store ? Value(store.getTile()) : op->getResult(0));
    }
  });
  return tiles;
}

bool canPack(const Layout &layout, RankedTensorType tile, Threads threads) {
  auto places = Distribution::of(layout, shapeOf(tile));
  return places && places->registers() * threads.count() == tile.getNumElements();
}

int64_t packedRun(const Layout &layout, int64_t elementBytes) {
  constexpr int64_t kBytes = 16;
  return std::gcd(layout.limit(Axis::reg), kBytes / elementBytes);
}

} // namespace ditron::gpu
