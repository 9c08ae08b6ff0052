// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/runtime/TensorMemory.h"
#include "ditron/runtime/nvidia/Gpu.h"

namespace ditron::runtime::nvidia {

/// Enqueues copies of the elements of `from` to `to`, of the same type and shape, each of which is
/// in the memory of the device or of the host: one for each run of neighbours, or for as many of them at
/// equal distances as a dimension has.
void copyTensor(const Gpu &device, const Stream &stream, const Tensor &to, const Tensor &from);

} // namespace ditron::runtime::nvidia
