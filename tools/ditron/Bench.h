// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ditron bench measures, on every backend.
#pragma once
#include "Execute.h"
#include "tools/baselines/Work.h"
#include <optional>

namespace ditron::tools {

struct BenchArguments : LaunchArguments {
  bool baseline = false, save = false;
  bool graph = false; ///< launches come from a CUDA graph
  std::string folder = "bench/baselines";
};

struct BenchResult {
  Findings findings;
  uint64_t seed = 0;
  std::vector<double> seconds, baselineSeconds; ///< of each launch: the slowest rank's
  std::string baseline, baselineVersion;        ///< empty: none
  std::string machine;                          ///< empty: this machine's CPU
  std::string driver;                           ///< of a GPU
  int sets = 1,
      batch = 1; ///< equal sets of operands that launches take in turn, launches in a time
  double compileSeconds = 0;
  double assemblySeconds = 0;          ///< of these, until the code was on a GPU
  std::optional<double> launchSeconds; ///< of this thread for an asynchronous launch; GPUs only
  bool fromCache = false;
  std::vector<std::string> warnings;
};

/// The task as a baseline is made for it.
inline baselines::Work workOf(const Task &task) {
  return {task.entry, task.problem, task.config, task.kernel};
}

/// The only rank, on a device with streams of its own, timed by their events.
BenchResult benchDevice(Context &context, const Task &task, const BenchArguments &arguments,
                        uint64_t seed);

/// The same for one of several ranks, or of a kernel that could have several: from the end of a
/// launch to that of the next. Collective; the result is the same on every rank.
BenchResult benchDevices(Context &context, const Task &task, const Placement &placement,
                         const BenchArguments &arguments, uint64_t seed, Progress &progress);

} // namespace ditron::tools
