// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/analysis/PackedTiles.h"
#include "ditron/device/DistOps.h"
#include <numeric>

using namespace mlir;

namespace ditron::gpu {

std::optional<int64_t> packedNumber(Operation *op) {
  auto packed = op->getAttrOfType<DenseI64ArrayAttr>(device::kPackedAttr);
  return packed ? std::optional(packed[0]) : std::nullopt;
}

PackedTiles packedTiles(func::FuncOp function) {
  PackedTiles tiles;
  std::map<int64_t, int64_t> counts;
  function.walk([&](Operation *op) {
    if (auto number = packedNumber(op)) {
      auto store = dyn_cast<core::StoreOp>(op);
      tiles[*number].push_back(store ? Value(store.getTile()) : op->getResult(0));
      counts[*number] = op->getAttrOfType<DenseI64ArrayAttr>(device::kPackedAttr)[1];
    }
  });
  std::erase_if(tiles, [&](const auto &one) {
    return static_cast<int64_t>(one.second.size()) != counts[one.first];
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
