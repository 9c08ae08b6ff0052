// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/tune/Choose.h"
#include "ditron/driver/Compile.h"
#include "ditron/support/Error.h"
#include "ditron/tune/Schedules.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ranges>

namespace ditron::tune {

/// Each dimension of the kernel has an extent, of 1 or more, and nothing else has.
static void checkExtents(const kernels::KernelEntry &entry, const Dimensions &extents) {
  auto refuse = [&](const std::string &problem) {
    throw UsageError(fmt::format("{}: {}, expected extents of 1 or more of {}", entry.name, problem,
                                 fmt::join(std::views::keys(entry.shape), ", ")));
  };
  for (const auto &[name, extent] : extents) {
    if (!entry.shape.contains(name))
      refuse(fmt::format("there is no dimension {}", name));
    if (extent < 1)
      refuse(fmt::format("{} is {}", name, extent));
  }
  for (const std::string &name : std::views::keys(entry.shape))
    if (!extents.contains(name))
      refuse(fmt::format("{} is not given", name));
}

Choice choose(const kernels::KernelEntry &entry, const kernels::Problem &problem,
              std::string_view config) {
  if (entry.check)
    entry.check(problem);
  kernels::Config chosen = entry.configure(problem, config, scheduleParameters(problem.target));
  return {chosen, entry.kernel(problem, chosen), scheduleOf(chosen)};
}

Choice choose(const Context &ctx, std::string_view name, DType type, const Dimensions &extents,
              std::string_view config) {
  const kernels::KernelEntry &entry = kernels::findKernel(name);
  checkExtents(entry, extents);
  kernels::Problem problem;
  problem.dims = extents;
  problem.type = type;
  problem.ranks = ctx.ranks();
  problem.cores = ctx.cores();
  problem.target = traitsOf(targetFor(ctx.device()->target()));
  return choose(entry, problem, config);
}

Program compile(const Context &ctx, std::string_view name, DType type, const Dimensions &extents,
                std::string_view config) {
  Choice choice = choose(ctx, name, type, extents, config);
  return ctx.compile(choice.kernel, choice.schedule);
}

} // namespace ditron::tune
