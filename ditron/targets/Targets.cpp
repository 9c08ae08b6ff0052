// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/Targets.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron {

#define TARGET(folder)                                                                             \
  namespace folder {                                                                               \
  const TargetFamily &family();                                                                    \
  }
#include "ditron/targets/Targets.def"
#undef TARGET

static const std::vector<const TargetFamily *> &families() {
  static const std::vector<const TargetFamily *> all = {
#define TARGET(folder) &folder::family(),
#include "ditron/targets/Targets.def"
#undef TARGET
  };
  return all;
}

const std::vector<const Target *> &targets() {
  static const std::vector<const Target *> all = [] {
    std::vector<const Target *> found;
    for (const TargetFamily *family : families())
      found.insert(found.end(), family->targets.begin(), family->targets.end());
    return found;
  }();
  return all;
}

const Target *findTarget(std::string_view name) {
  auto found = std::find_if(targets().begin(), targets().end(),
                            [&](const Target *target) { return target->name() == name; });
  return found == targets().end() ? nullptr : *found;
}

const Target &targetNamed(std::string_view name) {
  if (const Target *target = findTarget(name))
    return *target;
  std::vector<std::string_view> names;
  for (const Target *target : targets())
    names.push_back(target->name());
  throw UnavailableError(
      fmt::format("target '{}' is not in this build, which has {}", name, fmt::join(names, ", ")));
}

std::string describeTargets() {
  std::string text;
  std::string_view machines;
  for (const Target *target : targets()) {
    if (!machines.empty())
      text += target->machines() == machines ? ", " : fmt::format(": {}; ", machines);
    text += target->name();
    machines = target->machines();
  }
  return text + fmt::format(": {}", machines);
}

void registerTargetDialects(mlir::DialectRegistry &registry) {
  for (const TargetFamily *family : families())
    family->registerDialects(registry);
}

void registerTargetPasses() {
  for (const TargetFamily *family : families())
    family->registerPasses();
}

std::string targetIdentity() {
  std::string identity;
  for (const TargetFamily *family : families())
    if (family->identity)
      identity += family->identity();
  return identity;
}

} // namespace ditron
