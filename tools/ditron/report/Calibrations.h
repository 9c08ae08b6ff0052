// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `ditron info --measure` keeps of a device: a file beside the compiled kernels.
#pragma once
#include "ditron/heuristics/Calibration.h"
#include <string>

namespace ditron::tools {

struct KnownCalibration {
  heuristics::Calibration numbers;
  bool isMeasured = false; ///< on this machine; else the numbers are the defaults
  std::string problem;     ///< why a file that is there does not count; empty: nothing
};

/// What was measured of the device of that name.
KnownCalibration findCalibration(const std::string &device);

/// Keeps it; the path. RuntimeError where it cannot be written, UsageError where there is no folder.
std::string keepCalibration(const std::string &device, const heuristics::Calibration &numbers);

} // namespace ditron::tools
