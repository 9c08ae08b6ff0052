// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron bench --explain: what the model of time chooses for a kernel of several ranks, and what it
// predicts beside what was measured.
#pragma once
#include "ditron/heuristics/OverlapModel.h"
#include "tools/ditron/report/Calibrations.h"
#include "tools/ditron/verbs/Bench.h"
#include <nlohmann/json_fwd.hpp>

namespace ditron::tools {

/// What was chosen, and the predicted and measured seconds of its parts; null for kernels that the
/// model is not about.
nlohmann::ordered_json explain(const Task &task, const BenchResult &result,
                               const KnownCalibration &calibration);

/// The same as lines for people.
std::string textOfExplanation(const nlohmann::ordered_json &explained);

} // namespace ditron::tools
