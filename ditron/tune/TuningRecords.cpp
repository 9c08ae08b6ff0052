// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/tune/TuningRecords.h"
#include "ditron/support/Hash.h"
#include "ditron/tune/Schedules.h"
#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron::tune {

using kernels::ConfigParameter;
using kernels::KernelEntry;
using kernels::Problem;

int64_t classOf(int64_t extent) {
  if (extent <= 16)
    return extent;
  auto power = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent)));
  return extent <= power / 4 * 3 ? power / 4 * 3 : power;
}

/// Depends on the choices, so that a record has the names and values that there are.
std::string Records::keyOf(const KernelEntry &entry, const Problem &problem) const {
  Hasher hasher;
  hasher.add("tuned").add(DITRON_VERSION).add(device_).add(entry.name).add(name(problem.type));
  hasher.add(fmt::format("{} ranks, {} cores", problem.ranks, problem.cores));
  for (const auto &[name, extent] : problem.dims)
    hasher.add(fmt::format("{}={}", name, classOf(extent)));
  for (const ConfigParameter &choice : entry.parameters)
    hasher.add(fmt::format("{}: {} {}", choice.name, fmt::join(choice.candidates, ","),
                           fmt::join(choice.names, ",")));
  for (const ConfigParameter &choice : scheduleParameters(problem.target))
    hasher.add(choice.name);
  return hasher.hex();
}

std::optional<std::string> Records::find(const KernelEntry &entry, const Problem &problem) {
  return cache_.find(keyOf(entry, problem));
}

void Records::store(const KernelEntry &entry, const Problem &problem, const std::string &config) {
  cache_.store(keyOf(entry, problem), config);
}

} // namespace ditron::tune
