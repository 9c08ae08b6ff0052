// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron run and ditron bench on a GPU: the operands of the host and their copies there.
#include "Bench.h"
#include "Tune.h"
#include "ditron/driver/Gpu.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace ditron::tools {

using namespace runtime::nvidia;

namespace {

/// The operands of a task in the memory of a GPU.
class DeviceOperands {
public:
  DeviceOperands(const Gpu &gpu, const Operands &host) : host_(host) {
    for (const Operands::Value &value : host.values()) {
      const auto *tensor = std::get_if<runtime::Tensor>(&value);
      memory_.emplace_back(gpu.device(), tensor ? tensor->bytes() : 0);
      if (tensor)
        values_.push_back(
            runtime::Tensor::borrow(memory_.back().pointer(), tensor->dtype(), tensor->shape()));
      else if (const auto *integer = std::get_if<int64_t>(&value))
        values_.push_back(*integer);
      else
        values_.push_back(std::get<double>(value));
    }
  }

  /// All that the host holds, the poison of outputs included.
  void upload() const {
    for (size_t n = 0; n < memory_.size(); ++n)
      if (const auto *tensor = std::get_if<runtime::Tensor>(&host_.values()[n]))
        memory_[n].upload(tensor->data());
  }
  void download() const {
    for (size_t n : host_.outputs())
      memory_[n].download(host_.tensor(n).data());
  }
  /// In the order of the signature, for a launch.
  std::vector<KernelArgument> arguments() const {
    std::vector<KernelArgument> result;
    for (size_t n = 0; n < values_.size(); ++n)
      if (const auto *number = std::get_if<double>(&host_.values()[n]))
        result.emplace_back(*number);
      else if (const auto *integer = std::get_if<int64_t>(&host_.values()[n]))
        result.emplace_back(*integer);
      else
        result.push_back(values_[n]);
    return result;
  }

private:
  const Operands &host_;
  std::vector<Memory> memory_;
  std::vector<KernelArgument> values_;
};

/// Launches and their times on a GPU.
class Timed {
public:
  explicit Timed(const Gpu &gpu) : gpu_(gpu), begin_(gpu.device()), end_(gpu.device()) {}
  double operator()(const std::function<void()> &work) const {
    begin_.record(gpu_.stream());
    work();
    end_.record(gpu_.stream());
    return end_.secondsSince(begin_);
  }

private:
  const Gpu &gpu_;
  Event begin_, end_;
};

} // namespace

RunResult runNvidia(const Task &task, const RunOptions &options) {
  Progress progress;
  Gpu gpu = Gpu::open();
  Operands host(task);
  DeviceOperands operands(gpu, host);
  GpuProgram program = gpu.compile(task.kernel);
  Timed timed(gpu);
  RunResult result;
  result.seed = options.seed;
  for (int launch = 0; launch < options.launches; ++launch) {
    progress.show(
        fmt::format("{}: launch {} of {}", task.entry.name, launch + 1, options.launches));
    kernels::Inputs inputs(task.entry, task.kernel, task.problem, options.seed + uint64_t(launch));
    host.fill(inputs, 0);
    operands.upload();
    if (launch == 0)
      program.prepare(operands.arguments()); // so that no time is that of compiling
    result.seconds.push_back(timed([&] { program.launch(operands.arguments()); }));
    program.wait();
    operands.download();
    result.findings.merge(verify(task, inputs, 0, host));
  }
  result.compileSeconds = program.report().seconds;
  result.fromCache = program.report().fromCache;
  if (std::string problem = program.report().cacheProblem; !problem.empty())
    result.warnings.push_back(problem);
  return result;
}

//===-- Bench ---------------------------------------------------------------------------------===//

namespace {

/// A copy within the GPU that reads and writes as many bytes as a kernel does.
class CopyRival {
public:
  CopyRival(const Gpu &gpu, double bytes)
      : gpu_(gpu), bytes_(size_t(bytes / 2)), from_(gpu.device(), bytes_),
        to_(gpu.device(), bytes_) {
    from_.fill(1);
  }
  void run() const { gpu_.stream().copy(to_, from_, bytes_); }

private:
  const Gpu &gpu_;
  size_t bytes_;
  Memory from_, to_;
};

/// Verifies what `launch` writes, over poison.
Findings verifyOnce(const Task &task, const kernels::Inputs &inputs, Operands &host,
                    const DeviceOperands &operands, GpuProgram &program,
                    const std::function<void()> &launch) {
  operands.upload();
  launch();
  program.wait();
  operands.download();
  Findings findings = verify(task, inputs, 0, host);
  host.fill(inputs, 0);
  return findings;
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

} // namespace

BenchResult benchOnNvidia(const Task &task, const BenchArguments &arguments, uint64_t seed) {
  Gpu gpu = Gpu::open();
  Operands host(task);
  kernels::Inputs inputs(task.entry, task.kernel, task.problem, seed);
  host.fill(inputs, 0);
  DeviceOperands operands(gpu, host);
  GpuProgram program = gpu.compile(task.kernel);
  BenchResult result;
  result.seed = seed;
  result.machine = gpu.device()->name();
  std::vector<KernelArgument> values = operands.arguments();
  std::optional<Graph> graph;
  if (arguments.graph)
    graph.emplace(gpu.device(), [&](const Stream &stream) { program.launch(values, stream); });
  auto launch = [&] { graph ? graph->launch(gpu.stream()) : program.launch(values); };
  result.findings = verifyOnce(task, inputs, host, operands, program, launch);
  std::optional<CopyRival> rival;
  if (arguments.baseline && task.entry.baseline == kernels::Baseline::copy) {
    rival.emplace(gpu, task.entry.bytes(task.problem));
    result.rival = "device copy";
  }
  Timed timed(gpu);
  double one = 0;
  for (int n = 0; n < 5; ++n)
    one = timed(launch);
  int launches = parseRepeat(arguments, int(std::clamp(0.5 / std::max(one, 1e-7), 10.0, 1000.0)));
  for (int n = 0; n < launches; ++n) {
    result.seconds.push_back(timed(launch));
    if (rival)
      result.rivalSeconds.push_back(timed([&] { rival->run(); }));
  }
  result.launchSeconds = launchSeconds(gpu, launch);
  result.findings.merge(verifyOnce(task, inputs, host, operands, program, launch));
  result.compileSeconds = program.report().seconds;
  result.fromCache = program.report().fromCache;
  result.warning = program.report().cacheProblem;
  return result;
}

//===-- Tune ----------------------------------------------------------------------------------===//

namespace {

class GpuTrials {
public:
  GpuTrials(const Task &task, uint64_t seed)
      : task_(task), inputs_(task.entry, task.kernel, task.problem, seed), gpu_(Gpu::open()),
        host_(task) {
    host_.fill(inputs_, 0);
    operands_.emplace(gpu_, host_);
  }

  double time(const kernels::Config &config) {
    constexpr double kMoment = 0.02;
    Task task{task_.entry, task_.problem, config, task_.entry.kernel(task_.problem.type, config)};
    GpuProgram program = gpu_.compile(task.kernel);
    std::vector<KernelArgument> values = operands_->arguments();
    auto launch = [&] { program.launch(values); };
    requireVerified(task, verifyOnce(task, inputs_, host_, *operands_, program, launch));
    Timed timed(gpu_);
    double one = timed(launch);
    std::vector<double> seconds;
    for (int left = launchesIn(kMoment, one); left > 0; --left)
      seconds.push_back(timed(launch));
    return median(seconds);
  }

private:
  const Task &task_;
  kernels::Inputs inputs_;
  Gpu gpu_;
  Operands host_;
  std::optional<DeviceOperands> operands_;
};

} // namespace

tune::Measure trialsOnNvidia(const Task &task, uint64_t seed) {
  auto trials = std::make_shared<GpuTrials>(task, seed);
  return [trials](const kernels::Config &config) { return trials->time(config); };
}

} // namespace ditron::tools
