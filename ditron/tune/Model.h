// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long a launch on a GPU may take, from what a configuration makes a CTA take of it: a model
// that ranks configurations nobody has measured. It is made of what limits kernels there:
//
//   a product    waves of tiles over the SMs, each as long as its tile is large, and
//                longer for the operands of small ones
//   the others   bytes at the speed of memory, slower where too few of them are under way, where
//                values have no registers, and where many warps wait for one another
//
// Its rates were fitted to an H200, and its limits are those of the target; only ratios count.
#pragma once
#include "ditron/driver/Compile.h"
#include "ditron/kernels/Registry.h"

namespace ditron::tune {

/// Seconds of a launch, up to a factor that is the same for every configuration of the problem.
double predictSeconds(const kernels::KernelEntry &entry, const kernels::Problem &problem,
                      const kernels::Config &config, const GpuResources &resources);

} // namespace ditron::tune
