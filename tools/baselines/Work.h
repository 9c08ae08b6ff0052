// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/kernels/Registry.h"

namespace ditron::baselines {

/// What is timed: a kernel of the library, made for a problem.
struct Work {
  const kernels::KernelEntry &entry;
  const kernels::Problem &problem;
  const kernels::Config &config;
  const Kernel &kernel;
};

/// The number of the first argument that the kernel writes.
inline size_t outputOf(const Kernel &kernel) {
  size_t n = 0;
  while (kernel.parameters()[n].access == Access::read)
    ++n;
  return n;
}

} // namespace ditron::baselines
