// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory as a tensor map describes it to TMA.
#pragma once
#include "ditron/runtime/nvidia/CudaDriver.h"
#include <span>
#include <vector>

namespace ditron::runtime::nvidia {

/// Strided memory of a device. The last dimension is the one of neighbours.
struct StridedMemory {
  uint64_t address = 0;
  int64_t elementBytes = 1;
  std::span<const int64_t> extents, strides; ///< in elements, outermost first
};

/// What the driver encodes for one kind of copy of one tensor: 128 bytes that a launch takes as a
/// parameter.
class alignas(64) TensorMap {
public:
  /// Why TMA cannot read such memory; empty if it can. It takes 2 to 5 dimensions of
  /// extents from 1 to 2^31 - 1, neighbours in the last one, addresses and all other strides that
  /// are multiples of 16 bytes, and elements that do not overlap.
  static std::string whyNot(const StridedMemory &memory);

  /// For copies of boxes (extents outermost first, the last one of 128 bytes) into shared memory
  /// with the swizzle of 128 bytes; zeros beyond the memory. `roundsToTf32`: elements of 4 bytes
  /// are f32, and rounded to the mantissa of tf32 on the way. RuntimeError with the driver's words.
  TensorMap(const Cuda &cuda, const StridedMemory &memory, std::span<const int64_t> box,
            bool roundsToTf32 = false);

  void *data() { return words_; }

private:
  uint64_t words_[16] = {};
};

} // namespace ditron::runtime::nvidia
