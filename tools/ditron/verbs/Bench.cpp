// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron bench: the time of a kernel, verified in the same run, beside what the machine can do.
#include "tools/ditron/verbs/Bench.h"
#include "ditron/runtime/Gather.h"
#include "ditron/support/Error.h"
#include "tools/baselines/HostBaseline.h"
#include "tools/baselines/Nccl.h"
#include "tools/ditron/FileKernel.h"
#include "tools/ditron/launch/DeviceOperands.h"
#include "tools/ditron/verbs/BenchReport.h"
#include "tools/ditron/verbs/Explanation.h"
#include "tools/ditron/verbs/Verbs.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace ditron::tools {

namespace {

constexpr const char *kFooter = R"(
A launch is timed around the call that launches it, after the ranks have met; the slowest rank
counts. Launches of the kernel and of its baseline take turns. rate is that of one rank. Bytes
count what is read and written; of a file, its arguments. Results are verified before the first
timed launch and after the last one.

--baseline: of gemm and grouped-gemm in f32 OpenBLAS with as many threads as all ranks have cores,
group after group, in other types ditron's own f32; of kernels that move memory a memcpy of as many bytes by as many threads
between large buffers; of kernels that overlap a product with a collective ditron's kernels for
the two, one after the other.

On a GPU launches are timed by events around them (what this thread spends on one is told beside
it), several together where they are short, on operands that no cache holds. The baseline of kernels
that move memory is a copy within the GPU's memory that reads and writes as many bytes, that of
products cuBLAS: DITRON_CUBLAS_DIR names its folder where the loader does not find it, and where it
is missing a copy of as many bytes as the operands have stands in.)";

/// One rank of a benchmark.
class RankBench {
public:
  RankBench(Context &context, const Task &task, const BenchArguments &arguments, uint64_t seed,
            Progress &progress)
      : context_(context), task_(task), arguments_(arguments), progress_(progress),
        seed_(runtime::gather<uint64_t>(context.runtimeRank(), {seed})[0][0]),
        inputs_(task.entry, task.kernel, task.problem, seed_), operands_(task),
        program_(context.compile(task.kernel)) {}

  BenchResult run() {
    show("making inputs");
    operands_.fill(inputs_, context_.rank());
    if (arguments_.baseline)
      baseline_ = baselines::makeHostBaseline(context_, workOf(task_), operands_.values());
    show("compiling");
    program_.prepare(operands_.values());
    context_.assemble();
    if (arguments_.graph)
      graph_.emplace(context_.record(
          [&](const Stream &stream) { program_.launch(operands_.values(), stream); }));
    show("warming up");
    launch();
    Findings findings = verify(task_, inputs_, context_.rank(), operands_);
    context_.assemble();
    int launches = warmUp();
    time(launches);
    show("verifying");
    if (task_.file) { // which may have added to what it wrote before
      operands_.refill(inputs_, context_.rank());
      launch();
    }
    findings.merge(verify(task_, inputs_, context_.rank(), operands_));
    return summary(findings);
  }

private:
  void show(const std::string &what) {
    if (context_.rank() == 0)
      progress_.show(
          fmt::format("{} {}: {}", task_.entry.name, formatShape(task_.problem.dims), what));
  }

  double launch() {
    context_.barrier();
    auto start = std::chrono::steady_clock::now();
    if (graph_) {
      graph_->launch();
      context_.sync();
    } else {
      program_.timedLaunch(operands_.values());
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  double runBaseline() {
    context_.barrier();
    double seconds = baseline_->run();
    if (baseline_->leavesThreadsSpinning())
      std::this_thread::sleep_for(std::chrono::milliseconds(2)); // until they sleep
    return seconds;
  }

  /// How many launches to time: those of a second, at least 7 and at most 200.
  int warmUp() {
    launch();
    double one = launch();
    if (baseline_) {
      runBaseline();
      one += runBaseline();
    }
    one = runtime::slowest(context_.runtimeRank(), {one})[0];
    return parseRepeat(arguments_, int(std::clamp(1 / std::max(one, 1e-6), 7.0, 200.0)));
  }

  void time(int launches) {
    for (int n = 0; n < launches; ++n) {
      show(fmt::format("launch {} of {}", n + 1, launches));
      seconds_.push_back(launch());
      if (baseline_)
        baselineSeconds_.push_back(runBaseline());
    }
  }

  BenchResult summary(const Findings &findings) {
    runtime::Rank &rank = context_.runtimeRank();
    BenchResult result;
    result.findings = mergeFindings(rank, findings);
    result.seed = seed_;
    result.seconds = runtime::slowest(rank, seconds_);
    result.baselineSeconds = runtime::slowest(rank, baselineSeconds_);
    if (baseline_) {
      result.baseline = baseline_->name();
      result.baselineVersion = baseline_->version();
    }
    result.compileSeconds = runtime::slowest(rank, {program_.report().seconds})[0];
    result.fromCache = program_.report().fromCache;
    std::string problem = program_.report().cacheProblem;
    problem = mergeCacheProblems(rank, problem.empty() && baseline_ ? baseline_->cacheProblem()
                                                                    : problem);
    if (!problem.empty())
      result.warnings.push_back(problem);
    return result;
  }

  Context &context_;
  const Task &task_;
  const BenchArguments &arguments_;
  Progress &progress_;
  uint64_t seed_;
  kernels::Inputs inputs_;
  Operands operands_;
  Program program_;
  std::optional<Graph> graph_;
  std::unique_ptr<baselines::HostBaseline> baseline_;
  std::vector<double> seconds_, baselineSeconds_;
};

BenchResult benchRank(Context &context, const Task &task, const Placement &placement,
                      const BenchArguments &arguments, uint64_t seed, Progress &progress) {
  if (context.device()->isHostAccessible())
    return RankBench(context, task, arguments, seed, progress).run();
  if (task.entry.isDistributed || placement.ranks > 1)
    return benchDevices(context, task, placement, arguments, seed, progress);
  return benchDevice(context, task, arguments, seed);
}

BenchResult bench(const Task &task, const Placement &placement, const BenchArguments &arguments,
                  uint64_t seed) {
  Progress progress(placement.reports());
  std::mutex lock;
  BenchResult result;
  runOnRanks(runtimeOptions(placement), [&](Context &context) {
    naming(context, task, [&] {
      BenchResult mine = benchRank(context, task, placement, arguments, seed, progress);
      std::lock_guard guard(lock);
      if (context.rank() == 0 || placement.rank != 0)
        result = std::move(mine);
    });
  });
  return result;
}

int benchShape(const BenchArguments &arguments, const Placement &placement,
               const std::string &shape, uint64_t seed) {
  Task task = makeTask(arguments, shape, placement);
  requireMemory(task, placement.ranks, arguments.baseline ? 2 : 1);
  if (placement.spawns)
    return kVerified; // the processes go on from here
  BenchResult result = bench(task, placement, arguments, seed);
  const kernels::Verdict &verdict = result.findings.verdict;
  if (placement.reports()) {
    for (const std::string &warning : result.warnings)
      printWarning(warning);
    nlohmann::ordered_json line = jsonOf(task, placement, arguments, result);
    if (arguments.json)
      printJson(line);
    printText(textOf(task, placement, result, line), arguments.json);
    if (arguments.explain)
      printText(textOfExplanation(line["explained"]), arguments.json);
    if (!verdict.ok)
      printFailure(verdict.failure);
    else if (arguments.save)
      saveLine(line, result, arguments.folder);
  }
  return verdict.ok ? kVerified : kFailed;
}

/// The shapes that were typed, or those that the kernel's entry names.
std::vector<std::string> shapesOf(const BenchArguments &arguments) {
  if (!arguments.shapes.empty() || arguments.kernel.empty() || isFile(arguments.kernel))
    return arguments.shapes.empty() ? std::vector<std::string>{""} : arguments.shapes;
  std::vector<std::string> shapes;
  for (const Dimensions &dims : kernels::findKernel(arguments.kernel).benchShapes) {
    std::string shape = formatShape(dims);
    std::replace(shape.begin(), shape.end(), ' ', ',');
    shapes.push_back(shape);
  }
  return shapes.empty() ? std::vector<std::string>{""} : shapes;
}

int benchKernel(const BenchArguments &arguments) {
  Placement placement = parsePlacement(arguments);
  if (!placement.traits.timesMatter)
    throw UsageError(fmt::format("backend '{}' says what a kernel means, not how fast it is: "
                                 "expected backend 'cpu'",
                                 placement.backend));
  if (arguments.baseline && isFile(arguments.kernel))
    throw UsageError("--baseline is what a kernel of the library competes with: expected none for "
                     "a file of IR");
  if (arguments.baseline && !placement.traits.coresAreChosen)
    baselines::loadNccl();
  if (arguments.save && placement.reports())
    requireFolder(arguments.folder);
  uint64_t seed = parseSeed(arguments);
  int status = kVerified;
  for (const std::string &shape : shapesOf(arguments))
    status = std::max(status, benchShape(arguments, placement, shape, seed));
  if (!placement.spawns)
    return status;
  std::vector<std::string> command = commandLine("bench", arguments, seed);
  if (arguments.baseline)
    command.push_back("--baseline");
  if (arguments.graph)
    command.push_back("--graph");
  if (arguments.explain)
    command.push_back("--explain");
  if (arguments.save)
    command.insert(command.end(), {"--save", "--save-to", arguments.folder});
  return spawnProcesses(placement, std::move(command));
}

} // namespace

Verb addBench(CLI::App &program) {
  CLI::App *verb = program.add_subcommand("bench", "time a kernel, and its baseline beside it");
  auto arguments = std::make_shared<BenchArguments>();
  addLaunchOptions(*verb, *arguments);
  verb->add_flag("--baseline", arguments->baseline, "time what it competes with, in turn");
  verb->add_flag("--graph", arguments->graph, "launch from a recorded graph");
  verb->add_flag("--explain", arguments->explain,
                 "tell what the model of time chooses and predicts");
  verb->add_flag("--save", arguments->save, "append the lines to the file of this machine");
  CLI::Option *folder =
      verb->add_option("--save-to", arguments->folder, "the folder of that file (bench/baselines)");
  verb->footer(kFooter);
  return {verb, [arguments, folder] {
            if (folder->count() > 0 && !arguments->save)
              throw UsageError("--save-to is given, expected --save with it");
            return benchKernel(*arguments);
          }};
}

} // namespace ditron::tools
