// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/tune/Schedules.h"
#include <algorithm>

namespace ditron::tune {

using kernels::Config;
using kernels::ConfigParameter;

const std::vector<ConfigParameter> &scheduleParameters() {
  static const std::vector<ConfigParameter> parameters = {
      {"warps", "warps of a core that compute (0: as the tiles ask)", {0, 4, 8, 16}, {}, 0},
      {"stages", "tiles that loads are ahead (0: as many as fit)", {0, 2, 3, 4}, {}, 0},
      {"resident",
       "cores of a multiprocessor (0: as tiles and registers ask)",
       {0, 1, 2, 3, 4, 6, 8},
       {},
       0}};
  return parameters;
}

Config withSchedule(Config config) {
  for (const ConfigParameter &parameter : scheduleParameters())
    config.add({parameter.name, 0});
  return config;
}

Schedule scheduleOf(const Config &config) {
  auto choice = [&](const char *name) { return static_cast<int>(config.valueOr(name, 0)); };
  return {choice("warps"), choice("stages"), choice("resident")};
}

std::string textOf(const Config &config, const std::vector<ConfigParameter> &parameters) {
  std::vector<ConfigParameter> told;
  for (const ConfigParameter &parameter : parameters) {
    bool isOfSchedule = std::any_of(scheduleParameters().begin(), scheduleParameters().end(),
                                    [&](const auto &one) { return one.name == parameter.name; });
    if (!isOfSchedule || config[parameter.name] != 0)
      told.push_back(parameter);
  }
  return config.text(told);
}

} // namespace ditron::tune
