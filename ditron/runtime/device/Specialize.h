// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of a launch from its arguments.
#pragma once
#include "ditron/abi/CompileRequest.h"
#include "ditron/runtime/device/Device.h"

namespace ditron::runtime {

/// For each argument: its last dimension has stride 1.
std::vector<bool> unitStrides(const std::vector<KernelArgument> &arguments);

/// The request for launches with such arguments: with the stride and the alignment of each.
CompileRequest specialized(CompileRequest request, const std::vector<KernelArgument> &arguments);

/// Fills `words` with all that a launch depends on of its arguments: kinds, element types,
/// addresses, extents, strides and the bits of numbers. Equal words are of arguments that are the
/// same. Nothing is allocated where `words` has room.
void identify(const std::vector<KernelArgument> &arguments, std::vector<int64_t> &words);

} // namespace ditron::runtime
