// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron run and ditron tune on a GPU.
#include "DeviceOperands.h"
#include "Tune.h"
#include "ditron/driver/Compile.h"
#include "ditron/support/Parallel.h"
#include "ditron/tune/Model.h"
#include <fmt/format.h>
#include <limits>
#include <map>
#include <mutex>
#include <set>

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
    naming(task, [&] {
      if (launch == 0)
        program.prepare(operands.arguments()); // so that no time is that of compiling
      result.seconds.push_back(timed([&] { program.launch(operands.arguments()); }));
      program.wait();
    });
    operands.download();
    result.findings.merge(verify(task, inputs, 0, host));
  }
  result.compileSeconds = program.report().seconds;
  result.assemblySeconds = program.report().assemblySeconds;
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
    operands_->upload();
  }

  /// The median of the launches of a moment, of a configuration that is verified before it can win:
  /// when it is the fastest so far, or is timed again.
  double time(const kernels::Config &config) {
    Task task = task_.with(config);
    GpuProgram program = programOf(task);
    double seconds = medianOf(program);
    bool isTimedAgain = !timed_.insert(task.configText()).second;
    if ((isTimedAgain || seconds < fastest_) && verified_.insert(task.configText()).second)
      requireVerified(task, verifyOnce(task, inputs_, host_, *operands_, [&] {
                        program.launch(operands_->arguments());
                        program.wait();
                      }));
    fastest_ = std::min(fastest_, seconds);
    return seconds;
  }

  /// Compiles and loads them on all CPUs; what is wrong with each, or an empty text.
  std::vector<std::string> prepare(const std::vector<kernels::Config> &configs) {
    std::vector<std::string> refusals(configs.size());
    std::vector<KernelArgument> values = operands_->arguments();
    prepared_.clear();
    std::mutex lock;
    inParallel(int64_t(configs.size()), 1, [&](int64_t begin, int64_t end) {
      for (auto n = size_t(begin); n < size_t(end); ++n)
        try {
          Task task = task_.with(configs[n]);
          GpuProgram program = gpu_.compile(task.kernel, task.schedule());
          program.prepare(values);
          std::lock_guard guard(lock);
          prepared_.emplace(task.configText(), std::move(program));
        } catch (const Error &error) { // of the compiler, or of the driver's assembler
          refusals[n] = error.what();
        }
    });
    return refusals;
  }

  /// What the model says; infinity where the kernel would not fit.
  double predict(const kernels::Config &config) {
    try {
      Task task = task_.with(config);
      GpuResources resources =
          gpuResources(task.kernel, requestFor(task.kernel, gpu_.target(), task.schedule(), 16));
      return tune::predictSeconds(task.entry, task.problem, config, resources);
    } catch (const CompileError &) {
      return std::numeric_limits<double>::infinity();
    }
  }

private:
  GpuProgram programOf(const Task &task) {
    auto found = prepared_.find(task.configText());
    return found == prepared_.end() ? gpu_.compile(task.kernel, task.schedule()) : found->second;
  }

  double medianOf(GpuProgram &program) {
    constexpr double kMoment = 0.02;
    std::vector<KernelArgument> values = operands_->arguments();
    auto launch = [&] { program.launch(values); };
    Timed timed(gpu_);
    launch();
    double one = timed(launch);
    std::vector<double> seconds;
    for (int left = launchesIn(kMoment, one); left > 0; --left)
      seconds.push_back(timed(launch));
    return median(seconds);
  }

  std::map<std::string, GpuProgram> prepared_; ///< by their configurations
  std::set<std::string> timed_, verified_;     ///< configurations
  double fastest_ = std::numeric_limits<double>::infinity();
  const Task &task_;
  kernels::Inputs inputs_;
  Gpu gpu_;
  Operands host_;
  std::optional<DeviceOperands> operands_;
};

} // namespace

GpuTuning trialsOnNvidia(const Task &task, uint64_t seed) {
  auto trials = std::make_shared<GpuTrials>(task, seed);
  GpuTuning tuning;
  tuning.measure = [trials](const kernels::Config &config) { return trials->time(config); };
  tuning.guide.prepare = [trials](const auto &configs) { return trials->prepare(configs); };
  tuning.guide.predict = [trials](const auto &config) { return trials->predict(config); };
  return tuning;
}

} // namespace ditron::tools
