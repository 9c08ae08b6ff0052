// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/Calibration.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cmath>
#include <sstream>

namespace ditron::heuristics {

const std::vector<Calibration::Field> &Calibration::fields() {
  static const std::vector<Field> all = {
      {"copy_bandwidth", &Calibration::copyBandwidth, "B/s", "copies by the host, rank to rank"},
      {"copy_latency", &Calibration::copyLatency, "s", "a copy of few bytes by the host"},
      {"core_copy_bandwidth", &Calibration::coreCopyBandwidth, "B/s", "cores, rank to rank"},
      {"bandwidth_of_core", &Calibration::bandwidthOfCore, "B/s", "one core, rank to rank"},
      {"signal_latency", &Calibration::signalLatency, "s", "signal, rank to rank"},
      {"flops", &Calibration::flops, "op/s", "product"},
      {"memory_bandwidth", &Calibration::memoryBandwidth, "B/s", "memory of a rank"},
      {"collective_latency", &Calibration::collectiveLatency, "s",
       "library's collective, few bytes"},
      {"collective_bandwidth", &Calibration::collectiveBandwidth, "B/s", "library's collective"},
  };
  return all;
}

std::string Calibration::text() const {
  std::ostringstream result;
  result.precision(6);
  for (const Field &field : fields())
    result << field.name << " " << this->*field.value << "\n";
  return result.str();
}

Calibration Calibration::parse(std::string_view text) {
  Calibration result;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, rest;
    double value = 0;
    words >> name >> value;
    auto field = std::find_if(fields().begin(), fields().end(),
                              [&](const Field &one) { return one.name == name; });
    bool isRight = !words.fail() && !(words >> rest) && field != fields().end();
    if (!isRight || !std::isfinite(value) || value <= 0)
      throw UsageError("calibration: '" + line + "': expected a name and a positive number");
    result.*field->value = value;
  }
  return result;
}

} // namespace ditron::heuristics
