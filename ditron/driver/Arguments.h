// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What launches of every backend do with their arguments.
#pragma once
#include "ditron/driver/Context.h"

namespace ditron {

/// CompileError unless kinds, element types and shapes of the arguments fit the signature.
void checkArguments(const Kernel &kernel, const std::vector<KernelArgument> &arguments,
                    int64_t ranks);

/// For each argument: its last dimension has stride 1.
std::vector<bool> unitStrides(const std::vector<KernelArgument> &arguments);

/// Fills `words` with all that a launch depends on of its arguments: kinds, element types,
/// addresses, extents, strides and the bits of numbers. Equal words are of arguments that are the
/// same. Nothing is allocated where `words` has room.
void identify(const std::vector<KernelArgument> &arguments, std::vector<int64_t> &words);

/// The 64-bit words of the arguments: a view's address, extents and strides, a scalar's value.
std::vector<int64_t> toWords(const Kernel &kernel, const std::vector<KernelArgument> &arguments);

} // namespace ditron
