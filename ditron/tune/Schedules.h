// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules as choices beside those of a kernel, so that a search varies both.
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/kernels/Config.h"
#include "ditron/support/DeviceTraits.h"

namespace ditron::tune {

/// The choices of a Schedule for a target: on GPUs warps, stages and ctas-per-sm, as many as it has
/// room for, of which 0 leaves a choice to the compiler; none on CPUs.
std::vector<kernels::ConfigParameter> scheduleParameters(const DeviceTraits &target);
/// What a configuration says of them; 0 where it has no such choice.
Schedule scheduleOf(const kernels::Config &config);
/// "m=64,n=128", as Config::text, and of these choices those that are not 0.
std::string textOf(const kernels::Config &config,
                   const std::vector<kernels::ConfigParameter> &parameters);

} // namespace ditron::tune
