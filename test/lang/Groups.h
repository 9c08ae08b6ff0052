// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron-trace GROUP prints the kernels of a group as they were traced.
#pragma once
#include "ditron/lang/Kernel.h"
#include <vector>

namespace ditron::tests {

/// Adds a group of kernels when the program starts.
struct Group {
  Group(const char *name, std::vector<Kernel> (*kernels)());
};

} // namespace ditron::tests
