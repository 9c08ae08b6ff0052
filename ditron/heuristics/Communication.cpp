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

constexpr int64_t kSummedElements = 8192;

ChunkShape summedChunk(int64_t rows, int64_t columns) {
  return chunkOf(kSummedElements, rows, columns);
}

int64_t summedRows(int64_t rows, int64_t columns) {
  int64_t most = std::clamp<int64_t>(kSummedElements / columns, 1, rows);
  while (rows % most)
    --most;
  return most;
}

bool takesTwoShots(int64_t bytes) { return bytes >= 256 * 1024; }

int64_t communicatingCores(int64_t cores, const DeviceTraits &target) {
  if (target.isGpu())
    return 16;
  return cores >= 4 ? 1 : 0;
}

} // namespace ditron::heuristics
