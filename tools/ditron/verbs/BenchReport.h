// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ditron bench prints and keeps of a result.
#pragma once
#include "tools/ditron/verbs/Bench.h"
#include <nlohmann/json_fwd.hpp>

namespace ditron::tools {

/// The line of a shape: docs/cli.md has its fields.
nlohmann::ordered_json jsonOf(const Task &task, const Placement &placement,
                              const BenchArguments &arguments, const BenchResult &result);

/// The same for people.
std::string textOf(const Task &task, const Placement &placement, const BenchResult &result,
                   const nlohmann::ordered_json &line);

/// Makes the folder, if it is not there. RuntimeError where saveLine could not write into it.
void requireFolder(const std::string &folder);

/// Appends the line, with date, machine and versions, to the file of this machine. RuntimeError
/// where it cannot be written.
void saveLine(nlohmann::ordered_json line, const BenchResult &result, const std::string &folder);

} // namespace ditron::tools
