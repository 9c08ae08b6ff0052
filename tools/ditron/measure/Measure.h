// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the ranks of a machine do in which time, measured: copies by the host and by cores from rank to
// rank, signals, products, memory, the library's collective. Each is a loop of launches or copies
// between two events, of sizes that grow until they take long enough.
#pragma once
#include "ditron/heuristics/Calibration.h"
#include "tools/ditron/LaunchArguments.h"
#include <set>
#include <string>

namespace ditron::tools {

struct Measurement {
  heuristics::Calibration numbers;
  std::string device;             ///< what they are kept for
  std::set<std::string> measured; ///< names of fields; the others are as they were
  std::vector<std::string> notes; ///< why some are not
};

/// Measures the ranks of a placement, which are threads. RuntimeError where a rank fails.
Measurement measure(const Placement &placement);

} // namespace ditron::tools
