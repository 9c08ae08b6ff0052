// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/Communication.h"
#include "ditron/heuristics/Extents.h"

namespace ditron::heuristics {

static ChunkShape chunkOf(int64_t elements, int64_t rows, int64_t columns) {
  int64_t width = fit(columns, elements);
  return {fit(rows, elements / width), width};
}

ChunkShape movedChunk(int64_t rows, int64_t columns, DType type) {
  constexpr int64_t kBytes = 65536;
  return chunkOf(kBytes / static_cast<int64_t>(byteSize(type)), rows, columns);
}

ChunkShape summedChunk(int64_t rows, int64_t columns) {
  constexpr int64_t kElements = 8192;
  return chunkOf(kElements, rows, columns);
}

bool takesTwoShots(int64_t bytes) { return bytes >= 256 * 1024; }

int64_t communicatingCores(int64_t cores, const DeviceTraits &target) {
  if (target.isGpu())
    return 16;
  return cores >= 4 ? 1 : 0;
}

} // namespace ditron::heuristics
