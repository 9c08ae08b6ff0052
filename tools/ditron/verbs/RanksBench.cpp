// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron bench for kernels of several ranks on GPUs, timed by events of their streams.
//
// What competes is timed in rounds, in one process: the kernel, the libraries' sequence, and the
// product alone. In a round each of them is launched a few batches at a time, back to back. A batch
// goes first that is not timed: behind it the ranks are as far as one another. Batches of short
// launches have many of them, and with --graph a batch is one graph. Who is first in a round
// changes from round to round.
//
// One statistic counts for all: the largest of the ranks' medians.
#include "ditron/runtime/Gather.h"
#include "tools/baselines/RanksBaseline.h"
#include "tools/ditron/launch/DeviceOperands.h"
#include "tools/ditron/verbs/Bench.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <fmt/format.h>

namespace ditron::tools {

namespace {

constexpr double kLeastSeconds = 500e-6; ///< of a batch: what events time well
constexpr double kMoment = 1;            ///< for all rounds
constexpr double kLong = 20e-3;          ///< of a launch that needs no more warming up
constexpr int kTimed = 4;                ///< batches of a round, of each
constexpr double kRounding = 0.02;       ///< that sums of 16-bit floats may be off by

/// The times of the rank whose median is the largest.
std::vector<double> ofSlowest(runtime::Rank &rank, const std::vector<double> &mine) {
  std::vector<std::vector<double>> all = runtime::gather(rank, mine);
  return mine.empty() ? mine
                      : *std::max_element(all.begin(), all.end(), [](const auto &a, const auto &b) {
                          return median(a) < median(b);
                        });
}

/// One of those that compete.
class Contender {
public:
  using Launch = std::function<void(const Stream &)>;
  Contender(Context &context, Launch launch) : context_(context), launch_(std::move(launch)) {}

  /// Chooses how many launches a batch has, once they have found cold memory and slow clocks; and
  /// records a graph of them, where there is to be one. Collective.
  void prepare(bool asGraph) {
    double one = 0;
    for (int launches = 1; launches <= 5 && one < kLong; launches += 2)
      one = runtime::slowest(context_.runtimeRank(), {timeLaunches(launches)})[0];
    batch_ = int(std::clamp(std::ceil(kLeastSeconds / std::max(one, 1e-7)), 1.0, 100.0));
    seconds_ = one * batch_;
    if (asGraph)
      graph_.emplace(context_.record([&](const Stream &stream) { enqueue(stream); }));
  }

  /// Enqueues its part of a round.
  void enqueueRound() {
    launchBatch();
    std::vector<Event> &events = rounds_.emplace_back();
    events.push_back(context_.stream().record());
    for (int n = 0; n < kTimed; ++n) {
      launchBatch();
      events.push_back(context_.stream().record());
    }
  }
  /// Takes the times of the rounds that are over.
  void collect() {
    for (const std::vector<Event> &events : rounds_)
      for (size_t n = 1; n < events.size(); ++n)
        times_.push_back(events[n].secondsSince(events[n - 1]) / batch_);
    rounds_.clear();
  }

  void launchBatch() { graph_ ? graph_->launch() : enqueue(context_.stream()); }

  /// The median of the seconds of this thread for a launch. Streams take a limited number of
  /// operations before they make the host wait, so that a few launches are timed at a time.
  double secondsOfHost() const {
    constexpr int kTurns = 5, kLaunches = 8;
    int launches = int(std::clamp(0.1 * kMoment / secondsOfLaunch(), 1.0, double(kLaunches)));
    std::vector<double> times;
    for (int turn = 0; turn < kTurns; ++turn) {
      context_.assemble();
      for (int n = 0; n < launches; ++n) {
        auto begin = std::chrono::steady_clock::now();
        launch_(context_.stream());
        std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
        times.push_back(passed.count());
      }
      context_.sync();
    }
    return median(times);
  }

  int batch() const { return batch_; }
  double secondsOfLaunch() const { return seconds_ / batch_; }
  double secondsOfRound() const { return seconds_ * (kTimed + 1); }
  const std::vector<double> &times() const { return times_; }

private:
  void enqueue(const Stream &stream) {
    for (int n = 0; n < batch_; ++n)
      launch_(stream);
  }

  /// The seconds of one of a few launches back to back, behind one that is not timed.
  double timeLaunches(int launches) {
    context_.assemble();
    launch_(context_.stream());
    Event begin = context_.stream().record();
    for (int n = 0; n < launches; ++n)
      launch_(context_.stream());
    Event end = context_.stream().record();
    context_.sync();
    return end.secondsSince(begin) / launches;
  }

  Context &context_;
  Launch launch_;
  std::optional<Graph> graph_;
  int batch_ = 1;
  double seconds_ = 0; ///< of a batch, about
  std::vector<std::vector<Event>> rounds_;
  std::vector<double> times_;
};

/// One rank.
class RanksBench {
public:
  RanksBench(Context &context, const Task &task, const BenchArguments &arguments, uint64_t seed,
             Progress &progress)
      : context_(context), rank_(context.runtimeRank()), task_(task), arguments_(arguments),
        progress_(progress), inputs_(task.entry, task.kernel, task.problem, seed), host_(task),
        operands_(context, host_), program_(context.compile(task.kernel, task.schedule())) {
    result_.seed = seed;
  }

  BenchResult run() {
    show("making inputs");
    host_.fill(inputs_, context_.rank());
    values_ = operands_.arguments();
    operands_.upload();
    show("compiling");
    program_.prepare(values_);
    verifyKernel([&] { program_.launch(values_); });
    auto launch = [&](const Stream &stream) { program_.launch(values_, stream); };
    contenders_.emplace_back(context_, launch);
    if (arguments_.baseline)
      makeBaseline();
    for (Contender &one : contenders_) {
      show("warming up");
      one.prepare(arguments_.graph);
    }
    time();
    timeHosts();
    verifyKernel([&] { contenders_.front().launchBatch(); });
    return summary();
  }

private:
  void show(const std::string &what) {
    rank_.enter();
    if (context_.rank() == 0)
      progress_.show(
          fmt::format("{} {}: {}", task_.entry.name, formatShape(task_.problem.dims), what));
  }

  Findings verifyLaunch(const std::function<void()> &launch) {
    show("verifying");
    return verifyOnce(task_, inputs_, context_.rank(), host_, operands_, [&] {
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
    baseline_ = baselines::makeRanksBaseline(context_, workOf(task_), values_);
    if (context_.rank() == 0)
      for (const std::string &missing : baseline_.missing)
        result_.warnings.push_back("the baseline is not whole: " + missing);
    if (baseline_.sequence) {
      verifySequence();
      contenders_.emplace_back(context_, baseline_.sequence);
    }
    if (baseline_.product)
      contenders_.emplace_back(context_, baseline_.product);
  }

  void verifySequence() {
    if (!baseline_.isSameWork)
      return;
    Findings findings =
        mergeFindings(rank_, verifyLaunch([&] { baseline_.sequence(context_.stream()); }));
    bool isRight =
        findings.verdict.ok || (baseline_.roundsSums && findings.verdict.error < kRounding);
    if (!isRight && context_.rank() == 0)
      result_.warnings.push_back(
          fmt::format("the baseline's result is not right: {}", findings.verdict.failure));
  }

  void time() {
    double round = 0;
    for (const Contender &one : contenders_)
      round += one.secondsOfRound();
    int most = int(std::clamp(kMoment / std::max(round, 1e-6), 5.0, 50.0));
    int rounds = (parseRepeat(arguments_, most * kTimed) + kTimed - 1) / kTimed;
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
    if (baseline_.sequence)
      result_.baselineLaunchSeconds = seconds[1];
  }

  BenchResult summary() {
    result_.findings = mergeFindings(rank_, findings_);
    result_.batch = contenders_.front().batch();
    result_.driver = gpuDriverVersion();
    result_.movedBytes = baseline_.movedBytes;
    result_.versions = baseline_.versions;
    size_t next = 0;
    result_.seconds = ofSlowest(rank_, contenders_[next++].times());
    if (baseline_.sequence) {
      result_.baseline = baseline_.name;
      result_.baselineSeconds = ofSlowest(rank_, contenders_[next++].times());
    }
    if (baseline_.product)
      result_.productSeconds = ofSlowest(rank_, contenders_[next++].times());
    CompileReport compiled = program_.report();
    result_.note(compiled);
    result_.compileSeconds = runtime::slowest(rank_, {compiled.seconds})[0];
    result_.assemblySeconds = runtime::slowest(rank_, {compiled.assemblySeconds})[0];
    if (std::string problem = mergeCacheProblems(rank_, compiled.cacheProblem); !problem.empty())
      result_.warnings.push_back(problem);
    return std::move(result_);
  }

  Context &context_;
  runtime::Rank &rank_;
  const Task &task_;
  const BenchArguments &arguments_;
  Progress &progress_;
  kernels::Inputs inputs_;
  Operands host_;
  DeviceOperands operands_;
  Program program_;
  std::vector<KernelArgument> values_;
  baselines::RanksBaseline baseline_;
  std::deque<Contender> contenders_; ///< the kernel, then the sequence and the product, if any
  Findings findings_;
  BenchResult result_;
};

} // namespace

BenchResult benchDevices(Context &context, const Task &task, const Placement &placement,
                         const BenchArguments &arguments, uint64_t seed, Progress &progress) {
  // Ranks that are processes draw seeds of their own.
  seed = runtime::gather<uint64_t>(context.runtimeRank(), {seed})[0][0];
  BenchResult result = RanksBench(context, task, arguments, seed, progress).run();
  result.machine = fmt::format("{} x {}", placement.devices, context.deviceName());
  return result;
}

} // namespace ditron::tools
