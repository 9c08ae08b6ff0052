// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron bench for kernels of several ranks on GPUs, timed by events of their streams.
//
// What competes is timed in rounds, in one process: the kernel, the libraries' sequence, and the
// product alone (Contender.h). With --graph a batch is one graph. Who is first in a round changes
// from round to round. Products take the operands from the next of several equal sets, which together no
// cache holds; collectives take the same ones, as NCCL's own tests do.
//
// One statistic counts for all: the largest of the ranks' medians.
#include "ditron/runtime/Gather.h"
#include "tools/baselines/RanksBaseline.h"
#include "tools/ditron/launch/OperandSets.h"
#include "tools/ditron/verbs/Bench.h"
#include "tools/ditron/verbs/Contender.h"
#include <algorithm>
#include <deque>
#include <fmt/format.h>

namespace ditron::tools {

namespace {

constexpr double kMoment = 1; ///< for all rounds

/// One rank.
class RanksBench {
public:
  /// `sharers`: ranks on a device.
  RanksBench(Context &context, const Task &task, const BenchArguments &arguments, uint64_t seed,
             Progress &progress, int sharers)
      : context_(context), rank_(context.runtimeRank()), task_(task), arguments_(arguments),
        progress_(progress), inputs_(task.entry, task.kernel, task.problem, seed), host_(task),
        sets_(context, task, host_, sharers),
        program_(context.compile(task.kernel, task.schedule())) {
    result_.seed = seed;
  }

  BenchResult run() {
    show("making inputs");
    host_.fill(inputs_, context_.rank());
    sets_.fill(context_);
    show("compiling");
    for (const auto &values : sets_.arguments())
      program_.prepare(values);
    verifyKernel([&] { program_.launch(sets_.arguments()[0]); });
    contenders_.emplace_back(context_, launchesOf(sets_.arguments(), [&](const auto &values) {
                               return
                                   [&](const Stream &stream) { program_.launch(values, stream); };
                             }));
    if (arguments_.baseline)
      makeBaseline();
    for (Contender &one : contenders_) {
      show("warming up");
      one.prepare(arguments_.graph);
    }
    time();
    timeHosts();
    verifyKernel([&] { contenders_.front().launchFirst(); });
    return summary();
  }

private:
  /// One of each set.
  template <class Sets, class Make>
  static std::vector<Contender::Launch> launchesOf(const Sets &sets, const Make &make) {
    std::vector<Contender::Launch> launches;
    for (const auto &set : sets)
      launches.push_back(make(set));
    return launches;
  }

  void show(const std::string &what) {
    rank_.enter();
    if (context_.rank() == 0)
      progress_.show(
          fmt::format("{} {}: {}", task_.entry.name, formatShape(task_.problem.dims), what));
  }

  Findings verifyLaunch(const std::function<void()> &launch) {
    show("verifying");
    return verifyOnce(task_, inputs_, context_.rank(), host_, sets_.first(), [&] {
      context_.assemble();
      launch();
    });
  }
  void verifyKernel(const std::function<void()> &launch) {
    findings_.merge(verifyLaunch([&] {
      program_.poison();
      context_.assemble();
      launch();
    }));
  }

  void makeBaseline() {
    show("making the baseline");
    for (const auto &values : sets_.arguments())
      baselines_.push_back(baselines::makeRanksBaseline(context_, workOf(task_), values));
    if (context_.rank() == 0)
      for (const std::string &missing : baseline().missing)
        result_.warnings.push_back("the baseline is not whole: " + missing);
    if (baseline().sequence) {
      verifySequence();
      contenders_.emplace_back(
          context_, launchesOf(baselines_, [](const auto &one) { return one.sequence; }));
    }
    if (baseline().product)
      contenders_.emplace_back(context_,
                               launchesOf(baselines_, [](const auto &one) { return one.product; }));
  }

  void verifySequence() {
    if (!baseline().isSameWork)
      return;
    Findings findings =
        mergeFindings(rank_, verifyLaunch([&] { baseline().sequence(context_.stream()); }));
    if (!isRight(findings, baseline().roundsSums) && context_.rank() == 0)
      result_.warnings.push_back(
          fmt::format("the baseline's result is not right: {}", findings.verdict.failure));
  }

  void time() {
    double round = 0;
    for (const Contender &one : contenders_)
      round += one.secondsOfRound();
    int most = int(std::clamp(kMoment / std::max(round, 1e-6), 5.0, 50.0));
    int rounds = (parseRepeat(arguments_, most * Contender::kTimed) + Contender::kTimed - 1) /
                 Contender::kTimed;
    context_.assemble();
    for (int n = 0; n < rounds; ++n) {
      show(fmt::format("round {} of {}", n + 1, rounds));
      for (size_t k = 0; k < contenders_.size(); ++k)
        contenders_[(k + size_t(n)) % contenders_.size()].enqueueRound();
      context_.sync();
      for (Contender &one : contenders_)
        one.collect();
    }
  }

  /// What each of those that compete takes of the hosts' time, on the slowest rank.
  void timeHosts() {
    std::vector<double> seconds;
    for (const Contender &one : contenders_)
      seconds.push_back(one.secondsOfHost());
    seconds = runtime::slowest(rank_, seconds);
    result_.launchSeconds = seconds[0];
    if (baseline().sequence)
      result_.baselineLaunchSeconds = seconds[1];
  }

  BenchResult summary() {
    result_.findings = mergeFindings(rank_, findings_);
    result_.batch = contenders_.front().batch();
    result_.driver = gpuDriverVersion();
    result_.sets = int(sets_.arguments().size());
    result_.movedBytes = baseline().movedBytes;
    result_.versions = baseline().versions;
    size_t next = 0;
    result_.seconds = ofSlowest(rank_, contenders_[next++].times());
    if (baseline().sequence) {
      result_.baseline = baseline().name;
      result_.baselineSeconds = ofSlowest(rank_, contenders_[next++].times());
    }
    if (baseline().product)
      result_.productSeconds = ofSlowest(rank_, contenders_[next++].times());
    CompileReport compiled = program_.report();
    result_.note(compiled);
    result_.compileSeconds = runtime::slowest(rank_, {compiled.seconds})[0];
    result_.assemblySeconds = runtime::slowest(rank_, {compiled.assemblySeconds})[0];
    if (std::string problem = mergeCacheProblems(rank_, compiled.cacheProblem); !problem.empty())
      result_.warnings.push_back(problem);
    return std::move(result_);
  }

  const baselines::RanksBaseline &baseline() const {
    static const baselines::RanksBaseline none;
    return baselines_.empty() ? none : baselines_.front();
  }

  Context &context_;
  runtime::Rank &rank_;
  const Task &task_;
  const BenchArguments &arguments_;
  Progress &progress_;
  kernels::Inputs inputs_;
  Operands host_;
  OperandSets sets_;
  Program program_;
  std::vector<baselines::RanksBaseline> baselines_; ///< on the sets; none where none was asked for
  std::deque<Contender> contenders_; ///< the kernel, then the sequence and the product, if any
  Findings findings_;
  BenchResult result_;
};

} // namespace

BenchResult benchDevices(Context &context, const Task &task, const Placement &placement,
                         const BenchArguments &arguments, uint64_t seed, Progress &progress) {
  // Ranks that are processes draw seeds of their own.
  seed = runtime::gather<uint64_t>(context.runtimeRank(), {seed})[0][0];
  BenchResult result =
      RanksBench(context, task, arguments, seed, progress, placement.sharers()).run();
  result.machine = fmt::format("{} x {}", placement.devices, context.deviceName());
  return result;
}

} // namespace ditron::tools
