// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron run and ditron tune on a GPU.
#include "DeviceOperands.h"
#include "Tune.h"
#include <fmt/format.h>

namespace ditron::tools {

using namespace runtime::nvidia;

RunResult runNvidia(const Task &task, const RunOptions &options) {
  Progress progress;
  Gpu gpu = Gpu::open();
  Operands host(task);
  DeviceOperands operands(gpu, host);
  GpuProgram program = gpu.compile(task.kernel, task.schedule());
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
    Task task = task_.with(config);
    GpuProgram program = gpu_.compile(task.kernel, task.schedule());
    std::vector<KernelArgument> values = operands_->arguments();
    auto launch = [&] { program.launch(values); };
    requireVerified(task, verifyOnce(task, inputs_, host_, *operands_, [&] {
                      launch();
                      program.wait();
                    }));
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
