// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What traces of kernels and of graphs share.
#pragma once
#include "ditron/profile/Summary.h"
#include "tools/ditron/LaunchArguments.h"
#include <nlohmann/json.hpp>
#include <string>

namespace ditron::tools {

struct TraceArguments : LaunchArguments {
  std::string output = "trace.json", page, events, mode;
  bool noPage = false, overhead = false;
};

/// The files to write; empty: not wanted.
struct Files {
  std::string trace, page;
};
Files filesOf(const TraceArguments &arguments);

/// UsageError where the backend keeps no time of what cores do.
void requireClock(const Placement &placement);

nlohmann::ordered_json timesJson(const profile::CoreTimes &times,
                                 const runtime::TransferTime &transfers);
nlohmann::ordered_json pathJson(const profile::CriticalPath &path);

/// Records a step of the graph of a file. An exit status.
int traceGraph(const TraceArguments &arguments);

} // namespace ditron::tools
