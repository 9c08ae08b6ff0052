// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/launch/Execute.h"
#include "ditron/driver/Context.h"
#include "ditron/runtime/Launcher.h"
#include "ditron/runtime/Memory.h"
#include "ditron/support/Error.h"
#include "tools/ditron/launch/DeviceOperands.h"
#include "tools/ditron/launch/RankSteps.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <mutex>
#include <set>
#include <unistd.h>

namespace ditron::tools {

namespace {

/// What a rank tells the others after its launches.
struct RankReport {
  bool fromCache;
  double compileSeconds, assemblySeconds;
  runtime::TransferTime transfers;
  runtime::CoreStats cores;
};

/// Findings, fit for symmetric memory.
struct PlainFindings {
  bool ok, isComplete;
  double error, tolerance;
  int64_t checked, elements, projected;
  char failure[512];
};

/// A launch's arguments, on the host and on the device.
struct OperandSet {
  OperandSet(const Context &context, const Task &task) : host(task), device(context, host) {}
  Operands host;
  DeviceOperands device;
};

/// One rank's launches.
class RankRun : RankSteps {
public:
  RankRun(Context &context, const Task &task, const RunOptions &options, Progress &progress)
      : RankSteps(context, task, options, progress),
        program_(context.compile(task.kernel, task.schedule())) {}

  RunResult run() {
    std::vector<std::unique_ptr<OperandSet>> sets;
    double onHost = double(availableMemory()) / context_.ranks();
    double onDevice = double(context_.availableBytes()) / context_.ranks();
    for (int n = 0, count = agreeOnSets(std::min(onHost, onDevice)); n < count; ++n)
      sets.push_back(std::make_unique<OperandSet>(context_, task_));
    for (int first = 0; first < options_.launches; first += int(sets.size()))
      runBatch(first, sets);
    return summary();
  }

private:
  /// Launches that follow one another with no pause, and what they left.
  void runBatch(int first, std::vector<std::unique_ptr<OperandSet>> &sets) {
    int count = std::min(int(sets.size()), options_.launches - first);
    for (int n = 0; n < count; ++n) {
      begin("making inputs", first + n);
      sets[size_t(n)]->host.fill(inputsOf(first + n), context_.rank());
      sets[size_t(n)]->device.upload();
    }
    begin("compiling", first);
    for (int n = 0; n < count; ++n)
      program_.prepare(sets[size_t(n)]->device.arguments());
    context_.assemble();
    program_.poison();
    context_.assemble();
    begin("running", first);
    std::vector<Timing> timings;
    for (int n = 0; n < count; ++n)
      timings.push_back(program_.launchTimed(sets[size_t(n)]->device.arguments()));
    context_.sync();
    for (int n = 0; n < count; ++n) {
      begin("verifying", first + n);
      note(timings[size_t(n)].stats());
      sets[size_t(n)]->device.download();
      verifyLaunch(first + n, sets[size_t(n)]->host);
    }
  }

  void note(const LaunchStats &stats) {
    seconds_.push_back(stats.seconds);
    transfers_ += stats.transfers;
    cores_ += stats.cores;
    warnings_.insert(stats.warnings.begin(), stats.warnings.end());
  }

  RankReport report() const {
    CompileReport compiled = program_.report();
    return {compiled.fromCache, compiled.seconds, compiled.assemblySeconds, transfers_, cores_};
  }

  RunResult summary() {
    RunResult result;
    result.seed = seed_;
    result.seconds = runtime::slowest(rank_, seconds_);
    result.fromCache = true;
    result.findings = mergeFindings(rank_, findings_);
    runtime::TransferTime transfers;
    runtime::CoreStats cores;
    for (const auto &one : runtime::gather<RankReport>(rank_, {report()})) {
      const RankReport &other = one[0];
      result.compileSeconds = std::max(result.compileSeconds, other.compileSeconds);
      result.assemblySeconds = std::max(result.assemblySeconds, other.assemblySeconds);
      result.fromCache &= other.fromCache;
      transfers += other.transfers;
      cores += other.cores;
    }
    if (std::string problem = mergeCacheProblems(rank_, program_.report().cacheProblem);
        !problem.empty())
      result.warnings.push_back(problem);
    result.warnings.insert(result.warnings.end(), warnings_.begin(), warnings_.end());
    result.transfers = perLaunch(transfers);
    if (result.transfers)
      result.transfers->cpuShare = cores.cpuShare();
    return result;
  }

  std::optional<Transfers> perLaunch(const runtime::TransferTime &all) const {
    if (all.transferNs == 0)
      return std::nullopt;
    double parts = 1e9 * double(context_.ranks()) * double(seconds_.size());
    return Transfers{
        double(all.transferNs) / parts, double(all.exposedNs()) / parts, all.dropped, {}};
  }

  Program program_;
  std::vector<double> seconds_;
  runtime::TransferTime transfers_;
  runtime::CoreStats cores_;
  std::set<std::string> warnings_; ///< of launches, each once
};

} // namespace

Findings mergeFindings(runtime::Rank &rank, const Findings &mine) {
  const kernels::Verdict &verdict = mine.verdict;
  PlainFindings plain{verdict.ok,      mine.isComplete, verdict.error,  verdict.tolerance,
                      verdict.checked, mine.elements,   mine.projected, {}};
  verdict.failure.copy(plain.failure, sizeof(plain.failure) - 1);
  Findings result;
  for (const auto &one : runtime::gather<PlainFindings>(rank, {plain})) {
    const PlainFindings &other = one[0];
    result.merge({{other.ok, other.error, other.tolerance, other.checked, other.failure},
                  other.elements,
                  other.projected,
                  other.isComplete});
  }
  return result;
}

std::string mergeCacheProblems(runtime::Rank &rank, const std::string &mine) {
  struct Text {
    char text[1024] = {};
  } text;
  mine.copy(text.text, sizeof(text.text) - 1);
  for (const auto &one : runtime::gather<Text>(rank, {text}))
    if (*one[0].text)
      return one[0].text;
  return "";
}

void printWarning(const std::string &warning) { printError("warning: " + warning); }

runtime::Options runtimeOptions(const Placement &placement) {
  runtime::Options options;
  options.backend = placement.backend;
  options.ranks = placement.ranks;
  options.cores = placement.cores;
  options.transport = placement.transport;
  options.straggler = placement.straggler;
  options.mesh = placement.mesh;
  return options;
}

void runOnRanks(const runtime::Options &options, const std::function<void(Context &)> &body) {
  runRanks(options, [&](Context &context) {
    try {
      body(context);
    } catch (const RuntimeError &error) {
      if (options.transport == runtime::TransportKind::threads)
        throw;
      context.runtimeRank().tellOnce([&] { printFailure(error.what()); });
      throw ToldError(error.what());
    }
  });
}

RunResult run(const Task &task, const Placement &placement, const RunOptions &options) {
  runtime::Options setUp = runtimeOptions(placement);
  setUp.poison = true;
  setUp.scheduleSeed = options.seed;
  Progress progress(placement.reports());
  std::mutex lock;
  RunResult result;
  runOnRanks(setUp, [&](Context &context) {
    naming(context, task, [&] {
      RunResult mine = RankRun(context, task, options, progress).run();
      std::lock_guard guard(lock);
      result = std::move(mine); // the same on every rank
    });
  });
  return result;
}

int spawnProcesses(const Placement &placement, std::vector<std::string> command) {
  if (std::getenv("DITRON_JOB"))
    throw UsageError(
        "DITRON_JOB is set, as it is in a rank of a run that has been started already: "
        "expected it unset where processes are to be started");
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0)
    throw RuntimeError("/proc/self/exe cannot be read: the path of this program is needed to start "
                       "processes");
  command.insert(command.begin(), std::string(path, size_t(length)));
  return runtime::spawnRanks(
             {.processes = placement.ranks, .command = std::move(command), .tell = printError})
      .status;
}

std::vector<std::string> commandLine(const std::string &verb, const LaunchArguments &arguments,
                                     uint64_t seed) {
  std::vector<std::string> command{verb, arguments.kernel, "--seed", std::to_string(seed)};
  for (auto [option, text] :
       {std::pair("--dtype", &arguments.dtype), std::pair("--config", &arguments.config),
        std::pair("--ranks", &arguments.ranks), std::pair("--mesh", &arguments.mesh),
        std::pair("--axis", &arguments.axis), std::pair("--function", &arguments.function),
        std::pair("--cores", &arguments.cores), std::pair("--backend", &arguments.backend),
        std::pair("--procs", &arguments.procs), std::pair("--transport", &arguments.transport),
        std::pair("--repeat", &arguments.repeat), std::pair("--straggler", &arguments.straggler)})
    if (!text->empty())
      command.insert(command.end(), {option, *text});
  for (const std::string &shape : arguments.shapes)
    command.insert(command.end(), {"--shape", shape});
  if (arguments.json)
    command.push_back("--json");
  return command;
}

} // namespace ditron::tools
