// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/tune/Schedules.h"
#include <algorithm>

namespace ditron::tune {

using kernels::Config;
using kernels::ConfigParameter;

std::vector<ConfigParameter> scheduleParameters(const DeviceTraits &target) {
  constexpr int64_t kLeastWarps = 4;
  if (!target.isGpu())
    return {};
  auto upTo = [](int64_t most, std::vector<int64_t> candidates) {
    std::erase_if(candidates, [&](int64_t candidate) { return candidate > most; });
    return candidates;
  };
  int64_t ctas = std::min(target.ctasPerSm, target.threadsPerSm / (kLeastWarps * target.lanes));
  return {{"warps",
           "warps of a CTA that compute (0: as the tiles ask)",
           upTo(target.threadsPerCta / target.lanes, {0, 4, 8, 16}),
           {},
           0},
          {"stages", "tiles that loads are ahead (0: as many as fit)", {0, 2, 3, 4}, {}, 0},
          {"ctas-per-sm",
           "CTAs per SM (0: as tiles and registers ask)",
           upTo(ctas, {0, 1, 2, 3, 4, 6, 8}),
           {},
           0}};
}

Schedule scheduleOf(const Config &config) {
  auto choice = [&](const char *name) { return static_cast<int>(config.valueOr(name, 0)); };
  return {choice("warps"), choice("stages"), choice("ctas-per-sm")};
}

std::string textOf(const Config &config, const std::vector<ConfigParameter> &parameters) {
  static const std::vector<ConfigParameter> choices = scheduleParameters({.sms = 1});
  std::vector<ConfigParameter> told;
  for (const ConfigParameter &parameter : parameters) {
    bool isOfSchedule = std::any_of(choices.begin(), choices.end(),
                                    [&](const auto &one) { return one.name == parameter.name; });
    if (!isOfSchedule || config[parameter.name] != 0)
      told.push_back(parameter);
  }
  return config.text(told);
}

} // namespace ditron::tune
