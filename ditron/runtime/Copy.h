// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace ditron::runtime {

/// A chunk of elements and how it lies in the memory it comes from and goes to. Strides count
/// elements and may be anything.
struct ChunkShape {
  static constexpr size_t kMaxDims = 8; ///< of what a put or get moves
  size_t elementBytes;
  std::span<const int64_t> extents, fromStrides, toStrides;
};

/// Copies a chunk of any number of dimensions between memories that do not overlap; runs that are
/// dense on both sides go as one memcpy. Does nothing where an extent is 0 or less.
void copyStrided(void *to, const void *from, const ChunkShape &chunk) noexcept;

/// Its bytes.
uint64_t chunkBytes(const ChunkShape &chunk) noexcept;

} // namespace ditron::runtime
