// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/report/Calibrations.h"
#include "ditron/compiler/Cache.h"
#include "ditron/driver/backends/Backends.h"
#include "ditron/support/Error.h"
#include "tools/ditron/report/Machine.h"
#include <fmt/format.h>

namespace ditron::tools {

static std::string fileOf(const std::string &device) {
  return fmt::format("calibration-{}.txt", slugOf(device));
}

std::string calibratedDevice(const Placement &placement) {
  return placement.traits.coresAreChosen ? Machine::inspect().slug()
                                         : backends::find(placement.backend).deviceName();
}

KnownCalibration findCalibration(const std::string &device) {
  KnownCalibration result;
  KernelCache cache = KernelCache::fromEnvironment();
  std::string name = fileOf(device);
  if (cache.isOff())
    return result;
  try {
    std::optional<std::string> text = cache.folder().read(name);
    if (!text)
      return result;
    result.numbers = heuristics::Calibration::parse(*text);
    result.isMeasured = true;
  } catch (const UsageError &error) {
    result.problem = fmt::format("'{}': {}; ditron info --measure writes it anew",
                                 (cache.folder().path() / name).string(), error.what());
  } catch (const RuntimeError &error) {
    result.problem = fmt::format("calibration: {}; it is left alone", error.what());
  }
  return result;
}

std::string keepCalibration(const std::string &device, const heuristics::Calibration &numbers) {
  KernelCache cache = KernelCache::fromEnvironment();
  if (cache.isOff())
    throw UsageError("--measure keeps what it finds beside the compiled kernels, but there is no "
                     "folder for them: expected DITRON_CACHE_DIR to name one");
  std::string name = fileOf(device);
  cache.folder().write(name, numbers.text());
  return cache.folder().path() / name;
}

} // namespace ditron::tools
