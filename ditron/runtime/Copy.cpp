// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Copy.h"
#include <cstring>

namespace ditron::runtime {

namespace {

/// The chunk with as few dimensions as it takes, innermost first, strides in bytes.
struct Loops {
  static constexpr size_t kMaxLoops = ChunkShape::kMaxDims + 1;
  size_t depth = 0;
  int64_t extent[kMaxLoops], from[kMaxLoops], to[kMaxLoops];

  explicit Loops(const ChunkShape &chunk) noexcept {
    const auto bytes = int64_t(chunk.elementBytes);
    push(bytes, 1, 1); // the element itself: a dense run of bytes
    for (size_t d = chunk.extents.size(); d-- > 0;)
      push(chunk.extents[d], chunk.fromStrides[d] * bytes, chunk.toStrides[d] * bytes);
  }

  /// Adds an outer loop, or lengthens the outermost one where it continues it on both sides.
  void push(int64_t count, int64_t fromStep, int64_t toStep) noexcept {
    if (count == 1)
      return;
    if (depth > 0) {
      size_t last = depth - 1;
      if (fromStep == from[last] * extent[last] && toStep == to[last] * extent[last]) {
        extent[last] *= count;
        return;
      }
    }
    extent[depth] = count, from[depth] = fromStep, to[depth] = toStep;
    ++depth;
  }
};

template <class T>
void copyLine(std::byte *to, const std::byte *from, int64_t count, int64_t toStep,
              int64_t fromStep) noexcept {
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * fromStep, sizeof(T));
    std::memcpy(to + i * toStep, &value, sizeof(T));
  }
}

/// One line of runs of `run` bytes each.
void copyRuns(std::byte *to, const std::byte *from, int64_t run, int64_t count, int64_t toStep,
              int64_t fromStep) noexcept {
  switch (run) {
  case 1:
    return copyLine<uint8_t>(to, from, count, toStep, fromStep);
  case 2:
    return copyLine<uint16_t>(to, from, count, toStep, fromStep);
  case 4:
    return copyLine<uint32_t>(to, from, count, toStep, fromStep);
  case 8:
    return copyLine<uint64_t>(to, from, count, toStep, fromStep);
  default:
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to + i * toStep, from + i * fromStep, size_t(run));
  }
}

void copyLoops(std::byte *to, const std::byte *from, const Loops &loops, size_t level,
               int64_t run) noexcept {
  int64_t count = loops.extent[level], toStep = loops.to[level], fromStep = loops.from[level];
  if (level == 0)
    return copyRuns(to, from, run, count, toStep, fromStep);
  for (int64_t i = 0; i < count; ++i)
    copyLoops(to + i * toStep, from + i * fromStep, loops, level - 1, run);
}

/// What lies at one index of the first dimension.
ChunkShape withoutFirst(const ChunkShape &chunk) noexcept {
  return {chunk.elementBytes, chunk.extents.subspan(1), chunk.fromStrides.subspan(1),
          chunk.toStrides.subspan(1)};
}

} // namespace

uint64_t chunkBytes(const ChunkShape &chunk) noexcept {
  uint64_t bytes = chunk.elementBytes;
  for (int64_t extent : chunk.extents)
    bytes *= extent > 0 ? uint64_t(extent) : 0;
  return bytes;
}

void copyStrided(void *to, const void *from, const ChunkShape &chunk) noexcept {
  if (chunkBytes(chunk) == 0)
    return;
  auto *target = static_cast<std::byte *>(to);
  auto *source = static_cast<const std::byte *>(from);
  if (chunk.extents.size() > ChunkShape::kMaxDims) { // tensors may have any number of them
    const auto bytes = int64_t(chunk.elementBytes);
    for (int64_t n = 0; n < chunk.extents[0]; ++n)
      copyStrided(target + n * chunk.toStrides[0] * bytes,
                  source + n * chunk.fromStrides[0] * bytes, withoutFirst(chunk));
    return;
  }
  Loops loops(chunk);
  int64_t run = 1;
  // The innermost loop over dense bytes becomes the run.
  if (loops.depth > 0 && loops.from[0] == 1 && loops.to[0] == 1) {
    run = loops.extent[0];
    --loops.depth;
    for (size_t d = 0; d < loops.depth; ++d) {
      loops.extent[d] = loops.extent[d + 1];
      loops.from[d] = loops.from[d + 1];
      loops.to[d] = loops.to[d + 1];
    }
  }
  if (loops.depth == 0)
    std::memcpy(target, source, size_t(run));
  else
    copyLoops(target, source, loops, loops.depth - 1, run);
}

} // namespace ditron::runtime
