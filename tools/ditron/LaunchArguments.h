// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options that the verbs share, from what was typed to what is to be done. Everything that can
// be refused is refused here, before any rank starts.
#pragma once
#include "ditron/kernels/Registry.h"
#include "ditron/runtime/Options.h"
#include "ditron/runtime/device/Backend.h"
#include "ditron/tune/Schedules.h"
#include "ditron/tune/TuningRecords.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace CLI { // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace ditron::tools {

/// Which kernel, in which variant; as typed.
struct KernelArguments {
  std::string kernel, dtype, config, axis = {}, function = {}; ///< function: of a file
};
/// Declares KERNEL, --dtype, --config, --axis and --function.
void addKernelOptions(CLI::App &verb, KernelArguments &arguments);

/// Where and how it is launched; as typed. An empty text is an option that was not given.
struct LaunchArguments : KernelArguments {
  std::string ranks, mesh, cores, backend, procs, transport, seed, repeat, straggler;
  std::vector<std::string> shapes;
  bool json = false;
};
/// Declares those options too.
void addLaunchOptions(CLI::App &verb, LaunchArguments &arguments);

/// The most ranks of a run, and the most cores of a rank.
inline constexpr int64_t kMostRanks = 1024, kMostCores = 1024;

/// The CPUs that this process may use.
int cpus();

/// Where a kernel runs.
struct Placement {
  std::string backend = "cpu";
  runtime::BackendTraits traits = {}; ///< of the backend
  int ranks = 1, cores = 1;
  int devices = 0; ///< that the ranks run on, where these are counted
  runtime::TransportKind transport = runtime::TransportKind::threads;
  bool spawns = false; ///< this process is no rank: it starts the processes that are
  int rank = 0;        ///< of this process, where ranks are processes
  runtime::Straggler straggler = {};
  runtime::MeshRequest mesh = {}; ///< that the ranks fit
  runtime::MeshShape meshShape() const { return mesh.of(ranks); }
  /// Ranks on one device, at most.
  int sharers() const { return devices ? (ranks + devices - 1) / devices : ranks; }

  /// Whether this process prints the results.
  bool reports() const { return rank == 0; }
  std::string_view transportName() const;
  /// "4 ranks x 2 cores, cpu, threads"
  std::string describe() const;
};

/// UsageError where options contradict one another or the variables of the launcher that started
/// this process, UnavailableError for a backend that the machine lacks.
Placement parsePlacement(const LaunchArguments &arguments);

struct FileKernel;

/// A kernel made for a problem.
struct Task {
  const kernels::KernelEntry &entry;
  kernels::Problem problem;
  kernels::Config config;
  Kernel kernel;
  bool isTuned = false; ///< the configuration is one that ditron tune has found
  std::shared_ptr<const FileKernel> file = {}; ///< that has the entry; null: the library has

  /// The choices of the configuration: the entry's, and on a GPU those of the schedule.
  std::vector<kernels::ConfigParameter> parameters() const;
  Schedule schedule() const { return tune::scheduleOf(config); }
  /// ", teams of 3 along col", of all ranks nothing.
  std::string describeTeam() const;
  /// What --config may give.
  std::string configText() const { return tune::textOf(config, parameters()); }
  /// The same problem in another configuration.
  Task with(const kernels::Config &other) const;
};

/// The kernel at `shape` ("M=64,N=32"; what is not given is the entry's), of the ranks of a mesh or
/// those along one of its axes; or the kernel of a file, whose sizes have to be given. `target`: of
/// ditron compile, that its configuration is chosen for.
/// UsageError or CompileError where type, configuration, axis or sizes do not fit the kernel.
Task makeTask(const KernelArguments &arguments, const std::string &shape,
              const runtime::MeshShape &mesh, int cores, const std::string &target = "x86-64",
              const heuristics::Calibration &calibration = {});
/// The same where it is to run: what --config leaves open is as ditron tune found it there, if it
/// has searched.
Task makeTask(const LaunchArguments &arguments, const std::string &shape,
              const Placement &placement);
/// The target that kernels are compiled for there, as for ditron compile.
std::string targetOf(const Placement &placement);
/// What ditron tune keeps for a place.
tune::Records recordsOf(const Placement &placement);

/// Bytes of the arguments of one rank.
double operandBytes(const Task &task);
/// UnavailableError naming the bytes asked for and available where the machine has not the memory
/// for `sets` sets of the arguments of each of `ranks` ranks.
void requireMemory(const Task &task, int ranks, int sets = 1);

/// The seed that was typed, or a random one.
uint64_t parseSeed(const LaunchArguments &arguments);
/// --repeat, or `otherwise`.
int parseRepeat(const LaunchArguments &arguments, int otherwise);

} // namespace ditron::tools
