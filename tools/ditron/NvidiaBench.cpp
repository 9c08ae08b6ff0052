// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron bench on a GPU. Kernel and baseline take turns in rounds, each first in every second one.
// A round takes the operands from the next of several equal sets, which together no cache of the
// GPU holds. Launches too short for events to time well are timed several at a time.
#include "Bench.h"
#include "DeviceOperands.h"
#include "tools/baselines/GpuBaseline.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <fstream>

namespace ditron::tools {

using namespace runtime::nvidia;

namespace {

constexpr double kRotatedBytes = 512e6; ///< of all sets: more than any cache holds
constexpr size_t kMostSets = 64, kFewestSets = 2;
constexpr double kLeastSeconds = 500e-6; ///< that events time well
constexpr double kMoment = 0.5;          ///< for all rounds

/// How many sets of operands are made: enough, as far as there is memory for them.
size_t setsOf(const Task &task, const Device &device) {
  double bytes = std::max(1.0, operandBytes(task));
  double wanted =
      std::clamp(std::ceil(kRotatedBytes / bytes), double(kFewestSets), double(kMostSets));
  double room = double(device.availableBytes()) / (3 * bytes); // the baseline may need as much
  return size_t(std::max(1.0, std::min(wanted, room)));
}

/// The time of this thread for a launch.
double launchSeconds(const Gpu &gpu, const std::function<void()> &launch) {
  constexpr int kLaunches = 200; // that the driver queues without waiting
  gpu.stream().wait();
  auto begin = std::chrono::steady_clock::now();
  for (int n = 0; n < kLaunches; ++n)
    launch();
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  gpu.stream().wait();
  return passed.count() / kLaunches;
}

class GpuBench {
public:
  GpuBench(const Task &task, const BenchArguments &arguments, uint64_t seed)
      : task_(task), arguments_(arguments), gpu_(Gpu::open()),
        inputs_(task.entry, task.kernel, task.problem, seed), host_(task),
        program_(gpu_.compile(task.kernel, task.schedule())), timed_(gpu_) {
    result_.seed = seed;
    result_.machine = gpu_.device()->name();
    result_.driver = driverVersion();
    host_.fill(inputs_, 0);
    for (size_t n = setsOf(task, *gpu_.device()); n > 0; --n)
      sets_.emplace_back(gpu_, host_);
  }

  BenchResult run() {
    verifyKernel();
    for (size_t n = 1; n < sets_.size(); ++n)
      sets_[n].copyFrom(sets_[0], gpu_.stream());
    prepareLaunches();
    if (arguments_.baseline)
      makeBaseline();
    time();
    result_.launchSeconds = launchSeconds(gpu_, [&] { launchKernel(0); });
    verifyKernel();
    result_.compileSeconds = program_.report().seconds;
    result_.assemblySeconds = program_.report().assemblySeconds;
    result_.fromCache = program_.report().fromCache;
    if (std::string problem = program_.report().cacheProblem; !problem.empty())
      result_.warnings.push_back(problem);
    return std::move(result_);
  }

private:
  static std::string driverVersion() {
    int version = Cuda::get().version();
    std::string text = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
    std::string own;
    std::getline(std::ifstream("/sys/module/nvidia/version"), own);
    return own.empty() ? text : fmt::format("{} ({})", own, text);
  }

  void verifyKernel() {
    result_.findings.merge(verifyOnce(task_, inputs_, host_, sets_[0], [&] {
      program_.launch(sets_[0].arguments());
      program_.wait();
    }));
  }

  void prepareLaunches() {
    for (const DeviceOperands &set : sets_) {
      values_.push_back(set.arguments());
      if (arguments_.graph)
        graphs_.push_back(std::make_unique<Graph>(
            gpu_.device(), [&](const Stream &stream) { program_.launch(values_.back(), stream); }));
    }
  }
  void launchKernel(size_t set) {
    if (arguments_.graph)
      graphs_[set]->launch(gpu_.stream());
    else
      program_.launch(values_[set]);
  }

  void makeBaseline() {
    std::string missing;
    std::vector<baselines::Addresses> addresses;
    for (const DeviceOperands &set : sets_)
      addresses.push_back(set.addresses());
    baseline_ = baselines::makeGpuBaseline(gpu_, workOf(task_), addresses, missing);
    if (!missing.empty())
      result_.warnings.push_back("the baseline is a device copy: " + missing);
    if (!baseline_)
      return;
    result_.baseline = baseline_->name();
    result_.baselineVersion = baseline_->version();
    if (!baseline_->isSameWork())
      return;
    Findings findings = verifyOnce(task_, inputs_, host_, sets_[0], [&] {
      baseline_->launch(0);
      gpu_.stream().wait();
    });
    if (!findings.verdict.ok)
      result_.warnings.push_back(
          fmt::format("the baseline's result is not right: {}", findings.verdict.failure));
  }

  /// The seconds of one of so many launches, of which each takes the next set.
  double timeBatch(int count, const std::function<void(size_t)> &launch) {
    return timed_([&] {
             for (int n = 0; n < count; ++n)
               launch(next_ = (next_ + 1) % sets_.size());
           }) /
           count;
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
  }

  const Task &task_;
  const BenchArguments &arguments_;
  Gpu gpu_;
  kernels::Inputs inputs_;
  Operands host_;
  GpuProgram program_;
  Timed timed_;
  std::vector<DeviceOperands> sets_;
  std::vector<std::vector<KernelArgument>> values_; ///< of each set
  std::vector<std::unique_ptr<Graph>> graphs_;      ///< likewise
  std::unique_ptr<baselines::GpuBaseline> baseline_;
  size_t next_ = 0;
  BenchResult result_;
};

} // namespace

BenchResult benchOnNvidia(const Task &task, const BenchArguments &arguments, uint64_t seed) {
  BenchResult result;
  naming(task, [&] { result = GpuBench(task, arguments, seed).run(); });
  return result;
}

} // namespace ditron::tools
