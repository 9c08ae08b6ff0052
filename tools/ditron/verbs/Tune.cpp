// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron tune: searches for a fast configuration on this machine, and keeps it for run and bench.
#include "tools/ditron/verbs/Tune.h"
#include "ditron/driver/Context.h"
#include "ditron/runtime/Gather.h"
#include "ditron/runtime/Rank.h"
#include "tools/ditron/FileKernel.h"
#include "tools/ditron/report/Calibrations.h"
#include "tools/ditron/verbs/Verbs.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <nlohmann/json.hpp>

namespace ditron::tools {

namespace {

using Json = nlohmann::ordered_json;
using tune::Outcome;
using tune::Trial;

constexpr const char *kFooter = R"(
The search starts from the default configuration and varies one choice at a time over its
candidates (ditron list KERNEL shows them) as long as that helps; what --config gives stays. A launch
of each is timed as ditron bench does, and no configuration wins unverified. The best few and the
default are timed again in turns.

The configuration found is kept beside the compiled kernels (DITRON_CACHE_DIR), for this device,
element type, number of ranks and of cores, and class of shapes: extents up to 16 one by one, above
that all up to the same 2^k or 3 * 2^(k-1). ditron run, bench and trace take it from there.)";

struct TuneArguments : LaunchArguments {
  std::string budget, trials;
};

/// Times configurations of a task with the ranks as threads, on one set of operands.
class CpuTrials {
public:
  CpuTrials(const Task &task, const Placement &placement, uint64_t seed)
      : task_(task), placement_(placement), inputs_(task.entry, task.kernel, task.problem, seed) {
    for (int rank = 0; rank < placement.ranks; ++rank)
      operands_.emplace_back(task);
    runOnRanks(runtimeOptions(placement), [&](Context &context) {
      operands_[size_t(context.rank())].fill(inputs_, context.rank());
    });
  }

  double operator()(const kernels::Config &config) {
    Task task = task_.with(config);
    double seconds = 0;
    std::mutex lock;
    runOnRanks(runtimeOptions(placement_), [&](Context &context) {
      double mine = timeOn(context, task);
      std::lock_guard guard(lock);
      seconds = mine;
    });
    return seconds;
  }

private:
  /// The median of the launches of a moment, at least 3; the same on every rank.
  double timeOn(Context &context, const Task &task) {
    constexpr double kMoment = 0.05;
    runtime::Rank &rank = context.runtimeRank();
    Operands &operands = operands_[size_t(context.rank())];
    Program program = context.compile(task.kernel);
    auto launch = [&] {
      context.barrier();
      return program.timedLaunch(operands.values()).seconds;
    };
    operands.poison();
    launch();
    Findings findings =
        mergeFindings(rank, verify(task, inputs_, context.rank(), operands, kMoment));
    requireVerified(task, findings);
    double one = runtime::slowest(rank, {launch()})[0];
    std::vector<double> seconds;
    for (int left = launchesIn(kMoment, one); left > 0; --left)
      seconds.push_back(launch());
    return median(runtime::slowest(rank, seconds));
  }

  const Task &task_;
  const Placement &placement_;
  kernels::Inputs inputs_;
  std::vector<Operands> operands_;
};

/// The choices of a task: those that --config makes have no candidates, so that the search does not
/// vary them.
std::vector<kernels::ConfigParameter> openChoices(const TuneArguments &arguments,
                                                  const Task &task) {
  auto typed = kernels::parseAssignments(arguments.config, "config");
  std::vector<kernels::ConfigParameter> choices = task.parameters();
  for (kernels::ConfigParameter &choice : choices)
    if (std::any_of(typed.begin(), typed.end(),
                    [&](const auto &pair) { return pair.first == choice.name; }))
      choice.candidates.clear();
  if (std::all_of(choices.begin(), choices.end(),
                  [](const auto &choice) { return choice.candidates.empty(); }))
    throw UsageError(fmt::format("{} has no choice to search{}", task.entry.name,
                                 typed.empty() ? "" : " beside those that --config gives"));
  return choices;
}

Json jsonOf(const Task &task, const Placement &placement, const Outcome &outcome, bool isKept) {
  auto refused = std::count_if(outcome.trials.begin(), outcome.trials.end(),
                               [](const Trial &trial) { return !trial.refusal.empty(); });
  auto parameters = task.parameters();
  return {{"kernel", task.entry.name},
          {"backend", placement.backend},
          {"ranks", placement.ranks},
          {"cores", placement.cores},
          {"shape", shapeJson(task.problem.dims)},
          {"dtype", name(task.problem.type)},
          {"default", tune::textOf(outcome.first.config, parameters)},
          {"default_s", outcome.first.seconds},
          {"config", tune::textOf(outcome.best.config, parameters)},
          {"seconds", outcome.best.seconds},
          {"speedup", outcome.speedup()},
          {"trials", outcome.trials.size()},
          {"refused", refused},
          {"complete", outcome.isComplete},
          {"kept", isKept}};
}

std::string textOf(const Task &task, const Placement &placement, const Outcome &outcome) {
  auto parameters = task.parameters();
  std::string text = fmt::format("{} {} {}, {}: {} with {}", task.entry.name,
                                 name(task.problem.type), formatShape(task.problem.dims),
                                 placement.describe(), formatSeconds(outcome.best.seconds),
                                 tune::textOf(outcome.best.config, parameters));
  text += outcome.speedup() == 1
              ? std::string(", the default")
              : fmt::format(", {:.2f} times as fast as the default {} ({})", outcome.speedup(),
                            tune::textOf(outcome.first.config, parameters),
                            formatSeconds(outcome.first.seconds));
  size_t tried = outcome.trials.size();
  return text + fmt::format("; {} configuration{} tried{}", tried, tried == 1 ? "" : "s",
                            outcome.isComplete ? "" : ", more are left");
}

/// Keeps what the search found, values for the choices that have candidates. Whether it could.
bool keep(const Task &task, const Placement &placement, const Outcome &outcome) {
  std::vector<kernels::ConfigParameter> choices = task.parameters();
  std::erase_if(choices, [](const auto &choice) { return choice.candidates.empty(); });
  tune::Records records = recordsOf(placement);
  std::string config = tune::textOf(outcome.best.config, choices);
  records.store(task.entry, task.problem, config);
  bool isKept = records.find(task.entry, task.problem) == config;
  if (!isKept)
    printError(fmt::format("what was found is not kept: {}",
                           records.problem().empty() ? "the cache is off (DITRON_CACHE=0)"
                                                     : records.problem()));
  return isKept;
}

/// UsageError for what tune has no use for.
Placement placementOf(const TuneArguments &arguments) {
  Placement placement = parsePlacement(arguments);
  if (!placement.traits.timesMatter)
    throw UsageError(fmt::format("backend '{}' says what a kernel means, not how fast it is: "
                                 "expected one that runs kernels, such as 'cpu'",
                                 placement.backend));
  if (placement.transport != runtime::TransportKind::threads || placement.spawns)
    throw UsageError("ditron tune runs the ranks as threads of one process: expected neither "
                     "--procs nor another transport");
  if (!arguments.repeat.empty() || !arguments.straggler.empty())
    throw UsageError(fmt::format("ditron tune takes no {}",
                                 arguments.repeat.empty() ? "--straggler" : "--repeat"));
  if (arguments.shapes.size() > 1)
    throw UsageError(
        fmt::format("--shape is given {} times, expected once", arguments.shapes.size()));
  return placement;
}

tune::Limits limitsOf(const TuneArguments &arguments) {
  auto count = [](const char *name, const std::string &text, int64_t otherwise) {
    return text.empty() ? otherwise : kernels::parseInteger(name, text, 1, 1'000'000);
  };
  tune::Limits limits;
  limits.seconds = double(count("--budget", arguments.budget, 60));
  limits.trials = int(count("--trials", arguments.trials, 100));
  return limits;
}

Outcome searchOn(const Task &task, const Placement &placement, uint64_t seed,
                 const Searching &search) {
  if (placement.devices == 0)
    return search({CpuTrials(task, placement, seed), {}});
  return placement.ranks == 1 ? search(trialsOnDevice(task, placement, seed))
                              : searchOnRanks(task, placement, seed, search);
}

int tuneKernel(const TuneArguments &arguments) {
  if (isFile(arguments.kernel))
    throw UsageError(
        "ditron tune searches through the choices of a kernel of the library: a file of "
        "IR has none");
  Placement placement = placementOf(arguments);
  tune::Limits limits = limitsOf(arguments);
  Task task = makeTask(static_cast<const KernelArguments &>(arguments),
                       arguments.shapes.empty() ? "" : arguments.shapes.front(),
                       placement.meshShape(), placement.cores, targetOf(placement),
                       findCalibration(calibratedDevice(placement)).numbers);
  std::vector<kernels::ConfigParameter> choices = openChoices(arguments, task);
  requireMemory(task, placement.ranks);
  uint64_t seed = parseSeed(arguments);
  Progress progress;
  size_t count = 0;
  auto watch = [&](const Trial &trial) {
    progress.show(fmt::format("{}: {} configurations, {} with {}", task.entry.name, ++count,
                              formatSeconds(trial.seconds),
                              tune::textOf(trial.config, task.parameters())));
  };
  Outcome outcome = searchOn(task, placement, seed, [&](const Tuning &tuning) {
    return tune::search(choices, task.config, tuning.measure, limits, watch, tuning.guide);
  });
  progress.clear();
  bool isKept = keep(task, placement, outcome);
  if (arguments.json)
    printJson(jsonOf(task, placement, outcome, isKept));
  printText(textOf(task, placement, outcome), arguments.json);
  return kVerified;
}

} // namespace

void requireVerified(const Task &task, const Findings &findings) {
  if (!findings.verdict.ok)
    throw RuntimeError(fmt::format("{} with {}: {}", task.entry.name, task.configText(),
                                   findings.verdict.failure));
}

int launchesIn(double seconds, double one) {
  return int(std::clamp(seconds / std::max(one, 1e-7), 3.0, 1000.0));
}

Verb addTune(CLI::App &program) {
  CLI::App *verb = program.add_subcommand("tune", "search for a fast configuration, and keep it");
  auto arguments = std::make_shared<TuneArguments>();
  addLaunchOptions(*verb, *arguments);
  verb->add_option("--budget", arguments->budget, "seconds to search for (60)");
  verb->add_option("--trials", arguments->trials, "the most configurations to try (100)");
  verb->footer(kFooter);
  return {verb, [arguments] { return tuneKernel(*arguments); }};
}

} // namespace ditron::tools
