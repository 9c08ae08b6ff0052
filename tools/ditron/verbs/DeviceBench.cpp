// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron bench on devices whose launches are asynchronous, timed by events of their streams.
//
// A kernel of one rank and its baseline take turns in rounds, each first in every second one. A
// round takes the operands from the next of several equal sets, which together no cache holds.
// Launches too short for events to time well are timed several at a time.
// RanksBench.cpp has kernels of several ranks.
#include "ditron/interop/Cuda.h"
#include "tools/baselines/GpuBaseline.h"
#include "tools/ditron/launch/DeviceOperands.h"
#include "tools/ditron/verbs/Bench.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <memory>

namespace ditron::tools {

namespace {

constexpr double kLeastSeconds = 500e-6; ///< that events time well
constexpr double kMoment = 0.5;          ///< for all rounds

/// A kernel of one rank.
class DeviceBench {
public:
  DeviceBench(Context &context, const Task &task, const BenchArguments &arguments, uint64_t seed)
      : context_(context), task_(task), arguments_(arguments),
        inputs_(task.entry, task.kernel, task.problem, seed), host_(task),
        program_(context.compile(task.kernel, task.schedule())) {
    result_.seed = seed;
    result_.machine = context.deviceName();
    result_.driver = gpuDriverVersion();
    host_.fill(inputs_, 0);
    for (size_t n = setsOf(task, context); n > 0; --n)
      sets_.push_back(std::make_unique<DeviceOperands>(context, host_));
  }

  BenchResult run() {
    verifyKernel();
    for (size_t n = 1; n < sets_.size(); ++n)
      sets_[n]->copyFrom(*sets_[0], context_.stream());
    prepareLaunches();
    if (arguments_.baseline)
      makeBaseline();
    time();
    result_.launchSeconds = launchSeconds();
    verifyKernel();
    result_.note(program_.report());
    if (std::string problem = program_.report().cacheProblem; !problem.empty())
      result_.warnings.push_back(problem);
    return std::move(result_);
  }

private:
  void verifyKernel() {
    result_.findings.merge(verifyOnce(task_, inputs_, 0, host_, *sets_[0],
                                      [&] { program_.launch(sets_[0]->arguments()); }));
  }

  void prepareLaunches() {
    for (const auto &set : sets_) {
      values_.push_back(set->arguments());
      if (arguments_.graph)
        graphs_.push_back(context_.record(
            [&](const Stream &stream) { program_.launch(values_.back(), stream); }));
    }
  }
  void launchKernel(size_t set) {
    if (arguments_.graph)
      graphs_[set].launch();
    else
      program_.launch(values_[set]);
  }

  void makeBaseline() {
    std::string missing;
    baseline_ = baselines::makeGpuBaseline(context_, workOf(task_), values_, missing);
    if (!missing.empty())
      result_.warnings.push_back("the baseline is a device copy: " + missing);
    if (!baseline_)
      return;
    result_.baseline = baseline_->name();
    result_.baselineVersion = baseline_->version();
    if (!baseline_->isSameWork())
      return;
    Findings findings =
        verifyOnce(task_, inputs_, 0, host_, *sets_[0], [&] { baseline_->launch(0); });
    if (!isRight(findings, baseline_->roundsSums()))
      result_.warnings.push_back(
          fmt::format("the baseline's result is not right: {}", findings.verdict.failure));
  }

  /// The time of this thread for a launch.
  double launchSeconds() {
    constexpr int kLaunches = 200; // that are queued without waiting
    context_.sync();
    auto begin = std::chrono::steady_clock::now();
    for (int n = 0; n < kLaunches; ++n)
      launchKernel(0);
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    context_.sync();
    return passed.count() / kLaunches;
  }

  /// The seconds of one of so many launches, of which each takes the next set.
  double timeBatch(int count, const std::function<void(size_t)> &launch) {
    Stream stream = context_.stream();
    Event begin = stream.record();
    for (int n = 0; n < count; ++n)
      launch(next_ = (next_ + 1) % sets_.size());
    return stream.record().secondsSince(begin) / count;
  }

  void time() {
    auto kernel = [&](size_t set) { launchKernel(set); };
    auto baseline = [&](size_t set) { baseline_->launch(set); };
    double one = 0, other = 0;
    for (int n = 0; n < 3; ++n) { // the first ones find cold memory and slow clocks
      one = timeBatch(4, kernel);
      other = baseline_ ? timeBatch(4, baseline) : 0;
    }
    int batch = int(std::clamp(std::ceil(kLeastSeconds / std::max(one, 1e-7)), 1.0, 100.0));
    double round = batch * (one + other);
    int rounds = parseRepeat(arguments_, int(std::clamp(kMoment / round, 10.0, 1000.0)));
    result_.batch = batch;
    result_.sets = int(sets_.size());
    for (int n = 0; n < rounds; ++n) {
      if (baseline_ && n % 2)
        result_.baselineSeconds.push_back(timeBatch(batch, baseline));
      result_.seconds.push_back(timeBatch(batch, kernel));
      if (baseline_ && n % 2 == 0)
        result_.baselineSeconds.push_back(timeBatch(batch, baseline));
    }
    context_.sync();
  }

  Context &context_;
  const Task &task_;
  const BenchArguments &arguments_;
  kernels::Inputs inputs_;
  Operands host_;
  Program program_;
  std::vector<std::unique_ptr<DeviceOperands>> sets_;
  std::vector<std::vector<KernelArgument>> values_; ///< of each set
  std::vector<Graph> graphs_;                       ///< likewise
  std::unique_ptr<baselines::GpuBaseline> baseline_;
  size_t next_ = 0;
  BenchResult result_;
};

} // namespace

std::string gpuDriverVersion() {
  int version = cuda::driverVersion();
  std::string text = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
  std::string own;
  std::getline(std::ifstream("/sys/module/nvidia/version"), own);
  return own.empty() ? text : fmt::format("{} ({})", own, text);
}

BenchResult benchDevice(Context &context, const Task &task, const BenchArguments &arguments,
                        uint64_t seed) {
  return DeviceBench(context, task, arguments, seed).run();
}

} // namespace ditron::tools
