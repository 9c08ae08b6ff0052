// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `ditron info --measure` keeps of a device: a file beside the compiled kernels.
#pragma once
#include "ditron/heuristics/Calibration.h"
#include "tools/ditron/LaunchArguments.h"
#include <string>

namespace ditron::tools {

struct KnownCalibration {
  heuristics::Calibration numbers;
  bool isMeasured = false; ///< on this machine; else the numbers are the defaults
  std::string problem;     ///< why a file that is there does not count; empty: nothing
};

/// What a placement's numbers are kept for: the GPU's name, or the CPU's with the number of CPUs.
std::string calibratedDevice(const Placement &placement);

/// What was measured of that device.
KnownCalibration findCalibration(const std::string &device);

/// Keeps it; the path. RuntimeError where it cannot be written, UsageError where there is no folder.
std::string keepCalibration(const std::string &device, const heuristics::Calibration &numbers);

} // namespace ditron::tools
