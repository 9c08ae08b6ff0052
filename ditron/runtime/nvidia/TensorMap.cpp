// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/TensorMap.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>

namespace ditron::runtime::nvidia {

namespace {

// Numbers of the driver's interface.
// L2 reads the 128 bytes of a row of a box, as swizzling has them, and nothing beside them.
constexpr int kNoInterleave = 0, kSwizzle128 = 3, kPromote128 = 2, kZeros = 0;
constexpr int kBytes = 0, kHalves = 1, kWords = 2, kDoubleWords = 4; // unsigned integers
constexpr int kTf32 = 11;

constexpr int64_t kAlignment = 16;
constexpr int64_t kMostBytes = int64_t(1) << 40; // of a stride
constexpr size_t kMostDimensions = 5;

int typeOf(int64_t elementBytes) {
  switch (elementBytes) {
  case 1:
    return kBytes;
  case 2:
    return kHalves;
  case 4:
    return kWords;
  case 8:
    return kDoubleWords;
  }
  throw InternalError(fmt::format("a tensor map of elements of {} bytes", elementBytes));
}

int64_t roundedUp(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

} // namespace

std::string TensorMap::whyNot(const StridedMemory &memory) {
  size_t rank = memory.extents.size();
  if (rank < 2 || rank > kMostDimensions)
    return fmt::format("{} dimensions, expected 2 to {}", rank, kMostDimensions);
  if (memory.address % kAlignment != 0)
    return fmt::format("it begins at {:#x}, expected a multiple of {}", memory.address, kAlignment);
  for (int64_t extent : memory.extents)
    if (extent < 1 || extent > INT32_MAX)
      return fmt::format("an extent of {}, expected 1 to {}", extent, INT32_MAX);
  if (memory.extents.back() > 1 && memory.strides.back() != 1)
    return fmt::format("the last stride is {}, expected 1", memory.strides.back());
  int64_t within = memory.extents.back() * memory.elementBytes; // bytes that a stride steps over
  for (size_t dim = rank - 1; dim-- > 0;) {
    if (memory.extents[dim] == 1)
      continue; // its stride says nothing
    int64_t stride = memory.strides[dim];
    if (stride < 0 || stride >= kMostBytes / memory.elementBytes)
      return fmt::format("a stride of {} elements, expected 0 to {}", stride,
                         kMostBytes / memory.elementBytes - 1);
    int64_t bytes = stride * memory.elementBytes;
    if (bytes % kAlignment != 0)
      return fmt::format("a stride of {} bytes, expected a multiple of {}", bytes, kAlignment);
    if (bytes < within)
      return fmt::format("a stride of {} bytes over {}: elements overlap", bytes, within);
    within = bytes * memory.extents[dim];
  }
  return "";
}

TensorMap::TensorMap(const Cuda &cuda, const StridedMemory &memory, std::span<const int64_t> box,
                     bool roundsToTf32) {
  std::vector<uint64_t> extents, strides;
  std::vector<uint32_t> boxExtents, steps(box.size(), 1);
  int64_t within = 0; // bytes of what lies within a dimension
  for (size_t dim = box.size(); dim-- > 0;) {
    extents.push_back(static_cast<uint64_t>(memory.extents[dim]));
    boxExtents.push_back(static_cast<uint32_t>(box[dim]));
    int64_t stride = memory.strides[dim] * memory.elementBytes;
    if (dim + 1 == box.size())
      stride = memory.elementBytes;
    else if (memory.extents[dim] == 1)
      stride = roundedUp(within); // any that is legal
    if (dim + 1 < box.size())
      strides.push_back(static_cast<uint64_t>(stride));
    within = stride * memory.extents[dim];
  }
  DITRON_CUDA(cuda, cuTensorMapEncodeTiled, words_,
              roundsToTf32 ? kTf32 : typeOf(memory.elementBytes), static_cast<uint32_t>(box.size()),
              reinterpret_cast<void *>(memory.address), extents.data(), strides.data(),
              boxExtents.data(), steps.data(), kNoInterleave, kSwizzle128, kPromote128, kZeros);
}

} // namespace ditron::runtime::nvidia
