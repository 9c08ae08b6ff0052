// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ditron bench measures, on every backend.
#pragma once
#include "ditron/runtime/device/Device.h"
#include "tools/baselines/Work.h"
#include "tools/ditron/launch/Execute.h"
#include <map>
#include <optional>

namespace ditron::tools {

struct BenchArguments : LaunchArguments {
  bool baseline = false, save = false;
  bool graph = false;   ///< launches come from a CUDA graph
  bool explain = false; ///< what was chosen, and what was predicted, is told too
  std::string folder = "bench/baselines";
};

struct BenchResult {
  Findings findings;
  uint64_t seed = 0;
  /// Of each launch, or of one of a batch; of several ranks see benchDevices, or on CPUs the slowest
  /// rank's time of each.
  std::vector<double> seconds, baselineSeconds;
  std::string baseline, baselineVersion;       ///< empty: none
  std::string machine;                         ///< empty: this machine's CPU
  std::string driver;                          ///< of a GPU
  std::map<std::string, std::string> versions; ///< of other libraries: "NCCL" is "2.28.9"
  /// Of the library's product alone, as of the kernel; empty: none was timed.
  std::vector<double> productSeconds;
  double movedBytes = 0; ///< that a rank receives from others; 0: unknown
  int sets = 1,
      batch = 1; ///< equal sets of operands that launches take in turn, launches in a time
  double compileSeconds = 0;
  double assemblySeconds = 0; ///< of these, until the code was on a GPU
  /// Of the host's thread for an asynchronous launch, and for the baseline's calls; GPUs only.
  std::optional<double> launchSeconds, baselineLaunchSeconds;
  bool fromCache = false;
  std::vector<std::string> warnings;

  /// The seconds that nothing can beat: of the product alone, or of the bytes over a link of
  /// `bandwidth` bytes a second. Nothing where neither is known.
  std::optional<double> limit(double bandwidth) const;

  void note(const runtime::CompileReport &report) {
    compileSeconds = report.seconds;
    assemblySeconds = report.assemblySeconds;
    fromCache = report.fromCache;
  }
};

/// "580.159.04 (CUDA 13.0)"
std::string gpuDriverVersion();

/// The task as a baseline is made for it.
inline baselines::Work workOf(const Task &task) {
  return {task.entry, task.problem, task.config, task.kernel};
}

/// Whether a library's result is right. Sums that are rounded on their way may be off by more than
/// ditron's: by 2 % of the largest element.
inline bool isRight(const Findings &findings, bool roundsSums) {
  constexpr double kRounding = 0.02;
  return findings.verdict.ok || (roundsSums && findings.verdict.error < kRounding);
}

/// The only rank, on a device with streams of its own, timed by their events.
BenchResult benchDevice(Context &context, const Task &task, const BenchArguments &arguments,
                        uint64_t seed);

/// The same for one of several ranks, or of a kernel that could have several. Times are those of the
/// rank whose median is the largest, for the kernel as for what it is timed beside. Collective; the
/// result is the same on every rank.
BenchResult benchDevices(Context &context, const Task &task, const Placement &placement,
                         const BenchArguments &arguments, uint64_t seed, Progress &progress);

} // namespace ditron::tools
