// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/report/Calibrations.h"
#include "ditron/compiler/Cache.h"
#include "ditron/driver/backends/Backends.h"
#include "ditron/support/Error.h"
#include "ditron/support/File.h"
#include "tools/ditron/report/Machine.h"
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace ditron::tools {

namespace fs = std::filesystem;

/// Empty where nothing is kept on disk.
static fs::path fileOf(const std::string &device) {
  fs::path folder = KernelCache::fromEnvironment().folder();
  return folder.empty() ? folder : folder / fmt::format("calibration-{}.txt", slugOf(device));
}

std::string calibratedDevice(const Placement &placement) {
  return placement.traits.coresAreChosen ? Machine::inspect().slug()
                                         : backends::find(placement.backend).deviceName();
}

KnownCalibration findCalibration(const std::string &device) {
  KnownCalibration result;
  fs::path path = fileOf(device);
  std::ifstream file(path);
  if (path.empty() || !file)
    return result;
  std::ostringstream text;
  text << file.rdbuf();
  try {
    result.numbers = heuristics::Calibration::parse(text.str());
    result.isMeasured = true;
  } catch (const UsageError &error) {
    result.problem =
        fmt::format("'{}': {}; ditron info --measure writes it anew", path.string(), error.what());
  }
  return result;
}

std::string keepCalibration(const std::string &device, const heuristics::Calibration &numbers) {
  fs::path path = fileOf(device);
  if (path.empty())
    throw UsageError("--measure keeps what it finds beside the compiled kernels, but there is no "
                     "folder for them: expected DITRON_CACHE_DIR to name one");
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  writeFile(path.string(), numbers.text());
  return path.string();
}

} // namespace ditron::tools
