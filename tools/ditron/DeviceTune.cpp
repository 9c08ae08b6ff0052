// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron tune on a device with streams of its own.
#include "DeviceOperands.h"
#include "Tune.h"
#include "ditron/driver/Compile.h"
#include "ditron/support/Parallel.h"
#include "ditron/tune/Model.h"
#include <limits>
#include <map>
#include <mutex>
#include <set>

namespace ditron::tools {

namespace {

class DeviceTrials {
public:
  DeviceTrials(const Task &task, const Placement &placement, uint64_t seed)
      : task_(task), inputs_(task.entry, task.kernel, task.problem, seed),
        context_(Context::init(runtimeOptions(placement))), target_(targetOf(placement)),
        host_(task), operands_(context_, host_) {
    host_.fill(inputs_, 0);
    operands_.upload();
  }

  /// The median of the launches of a moment, of a configuration that is verified before it can win:
  /// when it is the fastest so far, or is timed again.
  double time(const kernels::Config &config) {
    Task task = task_.with(config);
    Program program = programOf(task);
    double seconds = medianOf(program);
    bool isTimedAgain = !timed_.insert(task.configText()).second;
    if ((isTimedAgain || seconds < fastest_) && verified_.insert(task.configText()).second)
      requireVerified(task, verifyOnce(task, inputs_, 0, host_, operands_,
                                       [&] { program.launch(operands_.arguments()); }));
    fastest_ = std::min(fastest_, seconds);
    return seconds;
  }

  /// Compiles and loads them on all CPUs; what is wrong with each, or an empty text.
  std::vector<std::string> prepare(const std::vector<kernels::Config> &configs) {
    std::vector<std::string> refusals(configs.size());
    std::vector<KernelArgument> values = operands_.arguments();
    prepared_.clear();
    std::mutex lock;
    inParallel(int64_t(configs.size()), 1, [&](int64_t begin, int64_t end) {
      for (auto n = size_t(begin); n < size_t(end); ++n)
        try {
          Task task = task_.with(configs[n]);
          Program program = context_.compile(task.kernel, task.schedule());
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
    constexpr int64_t kAlignment = 16; // of the tensors
    try {
      Task task = task_.with(config);
      GpuResources resources = gpuResources(
          task.kernel, requestFor(task.kernel, target_, task.schedule(), kAlignment));
      return tune::predictSeconds(task.entry, task.problem, config, resources);
    } catch (const CompileError &) {
      return std::numeric_limits<double>::infinity();
    }
  }

private:
  Program programOf(const Task &task) {
    auto found = prepared_.find(task.configText());
    return found == prepared_.end() ? context_.compile(task.kernel, task.schedule())
                                    : found->second;
  }

  double medianOf(const Program &program) {
    constexpr double kMoment = 0.02;
    std::vector<KernelArgument> values = operands_.arguments();
    program.timedLaunch(values);
    double one = program.timedLaunch(values).seconds;
    std::vector<double> seconds;
    for (int left = launchesIn(kMoment, one); left > 0; --left)
      seconds.push_back(program.timedLaunch(values).seconds);
    return median(seconds);
  }

  std::map<std::string, Program> prepared_; ///< by their configurations
  std::set<std::string> timed_, verified_;  ///< configurations
  double fastest_ = std::numeric_limits<double>::infinity();
  const Task &task_;
  kernels::Inputs inputs_;
  Context context_;
  std::string target_;
  Operands host_;
  DeviceOperands operands_;
};

} // namespace

Tuning trialsOnDevice(const Task &task, const Placement &placement, uint64_t seed) {
  auto trials = std::make_shared<DeviceTrials>(task, placement, seed);
  Tuning tuning;
  tuning.measure = [trials](const kernels::Config &config) { return trials->time(config); };
  tuning.guide.prepare = [trials](const auto &configs) { return trials->prepare(configs); };
  tuning.guide.predict = [trials](const auto &config) { return trials->predict(config); };
  return tuning;
}

} // namespace ditron::tools
