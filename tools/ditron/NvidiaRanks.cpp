// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron run and ditron bench on several GPUs: a host thread for each rank, launches back to back.
#include "Bench.h"
#include "DeviceOperands.h"
#include "RankSteps.h"
#include "ditron/driver/Context.h"
#include "ditron/runtime/Memory.h"
#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <mutex>
#include <thread>

namespace ditron::tools {

namespace {

/// What a rank tells the others after its launches.
struct RankReport {
  bool fromCache;
  double compileSeconds, assemblySeconds;
};

/// A launch's arguments, on the host and on the GPU.
struct OperandSet {
  OperandSet(const Gpu &gpu, const Task &task) : host(task), device(gpu, host) {}
  Operands host;
  DeviceOperands device;
};

/// One rank's launches.
class GpuRankRun : RankSteps {
public:
  GpuRankRun(Context &context, const GpuMesh &mesh, const Task &task, const Placement &placement,
             const RunOptions &options, Progress &progress)
      : RankSteps(context, task, options, progress), gpu_(mesh.rank(context.rank())),
        placement_(placement), program_(gpu_.compile(task.kernel)) {}

  RunResult run() {
    std::vector<std::unique_ptr<OperandSet>> sets;
    auto share = [](size_t bytes, int among) { return double(bytes) / among; };
    double onHost = share(runtime::availableMemory(), context_.ranks());
    double onGpu = share(gpu_.device()->availableBytes(), gpu_.group()->sharing(gpu_.rank()));
    for (int n = 0, count = agreeOnSets(std::min(onHost, onGpu)); n < count; ++n)
      sets.push_back(std::make_unique<OperandSet>(gpu_, task_));
    for (int first = 0; first < options_.launches; first += int(sets.size()))
      runBatch(first, sets);
    return summary();
  }

private:
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
    std::deque<runtime::nvidia::Event> begins, ends;
    for (int n = 0; n < count; ++n)
      begins.emplace_back(gpu_.device()), ends.emplace_back(gpu_.device());
    for (int n = 0; n < count; ++n) {
      if (placement_.straggler.rank == context_.rank())
        std::this_thread::sleep_for(placement_.straggler.delay);
      begins[size_t(n)].record(gpu_.stream());
      program_.launch(sets[size_t(n)]->device.arguments());
      ends[size_t(n)].record(gpu_.stream());
    }
    program_.wait();
    for (int n = 0; n < count; ++n) {
      begin("verifying", first + n);
      seconds_.push_back(ends[size_t(n)].secondsSince(begins[size_t(n)]));
      sets[size_t(n)]->device.download();
      verifyLaunch(first + n, sets[size_t(n)]->host);
    }
  }

  RunResult summary() {
    RunResult result;
    result.seed = seed_;
    result.fromCache = true;
    result.findings = mergeFindings(rank_, findings_);
    result.seconds = slowest(rank_, seconds_);
    CompileReport compiled = program_.report();
    RankReport own{compiled.fromCache, compiled.seconds, compiled.assemblySeconds};
    for (const auto &one : gather<RankReport>(rank_, {own})) {
      result.compileSeconds = std::max(result.compileSeconds, one[0].compileSeconds);
      result.assemblySeconds = std::max(result.assemblySeconds, one[0].assemblySeconds);
      result.fromCache &= one[0].fromCache;
    }
    if (std::string problem = mergeCacheProblems(rank_, compiled.cacheProblem); !problem.empty())
      result.warnings.push_back(problem);
    return result;
  }

  Gpu gpu_;
  const Placement &placement_;
  GpuProgram program_;
  std::vector<double> seconds_;
};

/// One rank's launches, timed.
class GpuRankBench {
public:
  GpuRankBench(Context &context, const GpuMesh &mesh, const Task &task,
               const BenchArguments &arguments, uint64_t seed, Progress &progress)
      : context_(context), rank_(context.runtimeRank()), gpu_(mesh.rank(context.rank())),
        task_(task), arguments_(arguments), seed_(seed), progress_(progress),
        inputs_(task.entry, task.kernel, task.problem, seed), operands_(gpu_, task),
        program_(gpu_.compile(task.kernel)) {}

  BenchResult run() {
    show("making inputs");
    operands_.host.fill(inputs_, context_.rank());
    values_ = operands_.device.arguments();
    show("compiling");
    program_.prepare(values_);
    if (arguments_.graph)
      graph_.emplace(gpu_.device(), [&](const runtime::nvidia::Stream &stream) {
        program_.launch(values_, stream);
      });
    Findings findings = verifyOnce();
    show("warming up");
    double one = slowest(rank_, {median(time(10))})[0];
    int launches = parseRepeat(arguments_, int(std::clamp(0.5 / std::max(one, 1e-7), 10.0, 200.0)));
    seconds_ = time(launches);
    findings.merge(verifyOnce());
    return summary(findings);
  }

private:
  void show(const std::string &what) {
    rank_.enter();
    if (context_.rank() == 0)
      progress_.show(
          fmt::format("{} {}: {}", task_.entry.name, formatShape(task_.problem.dims), what));
  }

  void launch() { graph_ ? graph_->launch(gpu_.stream()) : program_.launch(values_); }

  Findings verifyOnce() {
    show("verifying");
    operands_.host.fill(inputs_, context_.rank());
    operands_.device.upload();
    context_.assemble();
    program_.poison();
    context_.assemble();
    launch();
    program_.wait();
    operands_.device.download();
    return verify(task_, inputs_, context_.rank(), operands_.host);
  }

  /// Of launches back to back, from the end of one to the end of the next.
  std::vector<double> time(int launches) {
    std::deque<runtime::nvidia::Event> ends;
    for (int n = 0; n <= launches + 1; ++n)
      ends.emplace_back(gpu_.device());
    context_.assemble();
    for (auto &end : ends) {
      launch();
      end.record(gpu_.stream());
    }
    program_.wait();
    std::vector<double> seconds;
    for (size_t n = 2; n < ends.size(); ++n) // the first ones have begun at different times
      seconds.push_back(ends[n].secondsSince(ends[n - 1]));
    return seconds;
  }

  BenchResult summary(const Findings &findings) {
    BenchResult result;
    result.findings = mergeFindings(rank_, findings);
    result.seed = seed_;
    result.seconds = slowest(rank_, seconds_);
    result.machine = fmt::format("{} x {}", gpu_.group()->gpus(), gpu_.device()->name());
    CompileReport compiled = program_.report();
    result.compileSeconds = slowest(rank_, {compiled.seconds})[0];
    result.assemblySeconds = slowest(rank_, {compiled.assemblySeconds})[0];
    result.fromCache = compiled.fromCache;
    if (std::string problem = mergeCacheProblems(rank_, compiled.cacheProblem); !problem.empty())
      result.warnings.push_back(problem);
    return result;
  }

  Context &context_;
  runtime::Rank &rank_;
  Gpu gpu_;
  const Task &task_;
  const BenchArguments &arguments_;
  uint64_t seed_;
  Progress &progress_;
  kernels::Inputs inputs_;
  OperandSet operands_;
  GpuProgram program_;
  std::optional<runtime::nvidia::Graph> graph_;
  std::vector<KernelArgument> values_;
  std::vector<double> seconds_;
};

/// Runs `body` on a host thread for each rank, with the mesh; the last one's result, which is that
/// of all.
template <class Result, class Fn> Result onGpus(const Placement &placement, Fn &&body) {
  GpuMesh mesh = GpuMesh::open(placement.ranks);
  runtime::Options setUp;
  setUp.ranks = placement.ranks;
  setUp.transport = runtime::TransportKind::threads;
  setUp.straggler = {};
  Progress progress;
  std::mutex lock;
  Result result;
  runOnRanks(setUp, [&](Context &context) {
    Result mine = body(context, mesh, progress);
    std::lock_guard guard(lock);
    result = std::move(mine);
  });
  return result;
}

} // namespace

RunResult runOnGpus(const Task &task, const Placement &placement, const RunOptions &options) {
  return onGpus<RunResult>(
      placement, [&](Context &context, const GpuMesh &mesh, Progress &progress) {
        return GpuRankRun(context, mesh, task, placement, options, progress).run();
      });
}

BenchResult benchOnGpus(const Task &task, const Placement &placement,
                        const BenchArguments &arguments, uint64_t seed) {
  if (arguments.baseline)
    throw UsageError("--baseline: what kernels of several GPUs compete with is timed by "
                     "bench/collectives.py");
  return onGpus<BenchResult>(
      placement, [&](Context &context, const GpuMesh &mesh, Progress &progress) {
        return GpuRankBench(context, mesh, task, arguments, seed, progress).run();
      });
}

} // namespace ditron::tools
