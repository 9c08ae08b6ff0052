// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches a task on a backend and verifies every launch.
#pragma once
#include "Report.h"
#include "Verify.h"
#include "ditron/support/Error.h"
#include <functional>
#include <optional>

namespace ditron {
class Context;
}
namespace ditron::runtime {
class Rank;
}

namespace ditron::tools {

/// An error that the user has been told.
class ToldError : public RuntimeError {
  using RuntimeError::RuntimeError;
};

struct RunOptions {
  uint64_t seed = 0; ///< launch n takes its inputs from seed + n
  int launches = 1;
};

/// The transfers of a rank in a launch, on average: see runtime/Account.h.
struct Transfers {
  double seconds = 0;   ///< in which at least one of its cores transferred
  double exposed = 0;   ///< of these, in which none computed
  uint64_t dropped = 0; ///< events, of all ranks and launches, that are missing in these times
  std::optional<double> cpuShare; ///< of the cores' busy time, with a CPU: CoreStats::cpuShare

  double hidden() const { return 1 - exposed / seconds; }
};

struct RunResult {
  Findings findings;                  ///< of all ranks and launches
  uint64_t seed = 0;                  ///< of rank 0, which all ranks took
  std::vector<double> seconds;        ///< of each launch: the slowest rank's
  double compileSeconds = 0;          ///< from the traced kernel to code; the slowest rank's
  double assemblySeconds = 0;         ///< of these, until the code was on a GPU
  bool fromCache = false;             ///< that code came from the kernel cache on disk
  std::optional<Transfers> transfers; ///< nothing where nothing was transferred or not measured
  std::vector<std::string> warnings;
};

/// The ranks of this process, on any backend. Every process of the run gets the same result.
RunResult run(const Task &task, const Placement &placement, const RunOptions &options);

/// The findings of all ranks, on each of them; collective. Ranks that still verify are waited for.
Findings mergeFindings(runtime::Rank &rank, const Findings &mine);

/// What is wrong with the kernel cache, as the first rank that has something to say does; empty
/// where none has. Collective.
std::string mergeCacheProblems(runtime::Rank &rank, const std::string &mine);

/// Tells people of it: "ditron: warning: ...".
void printWarning(const std::string &warning);

/// Runs `body` on the ranks of this process. Where the ranks are processes, an error that ends the
/// run is printed by one of them, and is a ToldError.
void runOnRanks(const runtime::Options &options, const std::function<void(Context &)> &body);

/// The options that the runtime is started with.
runtime::Options runtimeOptions(const Placement &placement);

/// Starts the processes of a run, each with `command` as its arguments, and waits for them; their
/// exit status.
int spawnProcesses(const Placement &placement, std::vector<std::string> command);

/// The options as they were typed, for processes that are to do the same; with this seed.
std::vector<std::string> commandLine(const std::string &verb, const LaunchArguments &arguments,
                                     uint64_t seed);

} // namespace ditron::tools
