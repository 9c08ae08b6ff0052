// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/analysis/LayoutRelations.h"
#include "ditron/lower/Packets.h"

using namespace mlir;

namespace ditron::gpu {

int64_t elementsOfAccess(RankedTensorType tile, int64_t bytes) {
  return std::max<int64_t>(1, bytes / core::elementBytes(tile.getElementType()));
}

bool meetFor(RankedTensorType source, const Layout &layout, int64_t axis) {
  auto places = Distribution::of(layout, shapeOf(source));
  return places && warpsAlong(*places, static_cast<size_t>(axis)) > 1;
}

int64_t registersOf(RankedTensorType tile, const Layout &layout) {
  auto places = Distribution::of(layout, shapeOf(tile));
  return places ? places->registers() : INT64_MAX;
}

std::optional<Layout> transposed(const Layout &layout, RankedTensorType tile,
                                 ArrayRef<int64_t> permutation) {
  SmallVector<int> dims(permutation.begin(), permutation.end());
  return core::transpose(layout, shapeOf(tile), std::span<const int>(dims.data(), dims.size()));
}

SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result(permutation.size());
  for (auto [n, dim] : llvm::enumerate(permutation))
    result[dim] = static_cast<int64_t>(n);
  return result;
}

std::optional<Layout> broadcastSource(core::BroadcastOp op, std::optional<Layout> layout) {
  RankedTensorType source = tileOf(op.getSource());
  Shape shape = shapeOf(tileOf(op.getResult()));
  for (size_t dim = 0; layout && dim < shape.size(); ++dim)
    if (source.getDimSize(dim) != shape[dim]) {
      layout = collapsed(*layout, shape, static_cast<int64_t>(dim));
      shape[dim] = 1;
    }
  return layout;
}

Layout inGroups(RankedTensorType tile, Threads threads) {
  return blocked(shapeOf(tile), lower::PacketLayout(tile).run(), threads);
}

bool isInGroups(RankedTensorType tile) {
  int64_t run = lower::PacketLayout(tile).run();
  return Distribution::of(core::layoutOf(tile), shapeOf(tile))->run(run) == run;
}

} // namespace ditron::gpu
