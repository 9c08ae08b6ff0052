// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What launches of every backend do with their arguments.
#pragma once
#include "ditron/driver/Program.h"

namespace ditron {

/// CompileError unless kinds, element types and shapes of the arguments fit the signature, tensors
/// are in memory that the device reaches, and no tensor that is written overlaps another one, but
/// for those that the kernel computes in place.
void checkArguments(const Kernel &kernel, const std::vector<KernelArgument> &arguments,
                    const runtime::Device &device, int64_t ranks);

/// Why launches on the device cannot take a tensor, which they write or not; empty where they can: it is in
/// memory that the device reaches, and has a place for each element that is written.
std::string reasonAgainst(const Tensor &tensor, bool isWritten, const runtime::Device &device);

/// The 64-bit words of the arguments: a view's address, extents and strides, a scalar's value.
std::vector<int64_t> toWords(const Kernel &kernel, const std::vector<KernelArgument> &arguments);

} // namespace ditron
