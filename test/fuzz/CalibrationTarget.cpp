// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `ditron info --measure` wrote.
#include "FuzzTargets.h"
#include "ditron/heuristics/Calibration.h"

namespace ditron::fuzz {

namespace {

void read(std::string_view bytes) {
  allowErrors([&] { (void)heuristics::Calibration::parse(bytes).text(); });
}

} // namespace

const Target calibrationTarget = {"calibration", read};

} // namespace ditron::fuzz
