// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/measure/Measure.h"
#include "ditron/heuristics/Communication.h"
#include "ditron/interop/Cuda.h"
#include "ditron/kernels/kernels.h"
#include "ditron/runtime/Gather.h"
#include "ditron/runtime/nvidia/GpuDevice.h"
#include "tools/baselines/Nccl.h"
#include "tools/ditron/launch/DeviceOperands.h"
#include "tools/ditron/launch/Execute.h"
#include "tools/ditron/measure/HostCopies.h"
#include "tools/ditron/measure/MeasuredKernels.h"
#include "tools/ditron/report/Calibrations.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <mutex>

namespace ditron::tools {

using heuristics::Calibration;

namespace {

constexpr double kEnough = 2e-3; ///< seconds that a loop of launches has to take
constexpr int kColumns = 4096;   ///< of what is copied, in bf16
constexpr int64_t kFew = 4096;   ///< bytes of a copy whose latency counts
constexpr int64_t kRowBytes = 2 * kColumns;
constexpr int kRows = 8; ///< of a chunk that a core sends: 64 KB

/// What the largest loops take.
struct Sizes {
  int64_t copied, added, product; ///< bytes, elements, extent
  static Sizes of(bool isGpu) {
    return isGpu ? Sizes{256 << 20, 64 << 20, 8192} : Sizes{32 << 20, 8 << 20, 1024};
  }
};

/// One rank of the measurement; every step is collective, and its result the same on all ranks.
class RankMeasurement {
public:
  RankMeasurement(Context &context, const Placement &placement)
      : context_(context), placement_(placement),
        sizes_(Sizes::of(!context.device()->isHostAccessible())) {
    result_.device = calibratedDevice(placement);
    result_.numbers = findCalibration(result_.device).numbers; // those that are not measured now
  }

  Measurement run() {
    set(&Calibration::memoryBandwidth, memoryBandwidth());
    set(&Calibration::flops, flops());
    if (context_.ranks() < 2) {
      result_.notes.emplace_back("one rank has no link: expected --ranks 2 or more for the rest");
      return result_;
    }
    set(&Calibration::signalLatency, signalLatency());
    set(&Calibration::coreCopyBandwidth, bestCoreBandwidth());
    set(&Calibration::bandwidthOfCore, coreBandwidth({1, 1}, sizes_.copied / 16));
    measureHostCopies();
    measureCollective();
    return result_;
  }

private:
  void set(double Calibration::*field, double value) {
    result_.numbers.*field = value;
    for (const Calibration::Field &one : Calibration::fields())
      if (one.value == field)
        result_.measured.insert(one.name);
  }

  /// The seconds of one of some pieces of work, back to back, on the slowest rank: the median of
  /// three loops, behind one piece that finds cold memory.
  template <class Work> double timeOf(int count, const Work &work) {
    work();
    std::vector<double> loops;
    for (int loop = 0; loop < 3; ++loop) {
      context_.sync();
      context_.assemble();
      auto begin = std::chrono::steady_clock::now();
      for (int n = 0; n < count; ++n)
        work();
      context_.sync();
      std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      loops.push_back(runtime::slowest(context_.runtimeRank(), {passed.count() / count})[0]);
    }
    return median(loops);
  }

  /// The rate at a size from which on a loop takes long enough: size, then seconds of it.
  template <class Time> double rate(int64_t size, int64_t most, double units, const Time &time) {
    for (;; size = std::min(4 * size, most)) {
      double seconds = time(size);
      if (seconds >= kEnough || size >= most)
        return units * double(size) / seconds;
    }
  }

  double memoryBandwidth() {
    Program add = context_.compile(kernels::vectorAdd(DType::f32));
    return rate(int64_t(1) << 14, sizes_.added, 3 * sizeof(float), [&](int64_t count) {
      std::vector<Tensor> xs(3);
      for (Tensor &x : xs)
        x = context_.tensor<f32>({count});
      return timeOf(4, [&] { add(xs[0], xs[1], xs[2]); });
    });
  }

  /// Of random elements: what a product takes depends on them.
  double flops() {
    bool isGpu = !context_.device()->isHostAccessible();
    KernelArguments arguments{"gemm", isGpu ? "bf16" : "f32", ""};
    double found = 0;
    for (int64_t extent = 64; extent <= sizes_.product; extent *= 4) {
      std::string shape = fmt::format("M={0},N={0},K={0}", std::min(2 * extent, sizes_.product));
      double seconds = 0;
      found = productRate(makeTask(arguments, shape, {}, placement_.cores, targetOf(placement_)),
                          seconds);
      if (seconds > 10 * kEnough)
        break;
    }
    return found;
  }
  double productRate(const Task &task, double &seconds) {
    Operands host(task);
    DeviceOperands operands(context_, host);
    host.fill(kernels::Inputs(task.entry, task.kernel, task.problem, 1), context_.rank());
    if (!context_.device()->isHostAccessible())
      operands.upload();
    Program multiply = context_.compile(task.kernel, task.schedule());
    std::vector<KernelArgument> values = operands.arguments();
    seconds = timeOf(4, [&] { multiply.launch(values); });
    return task.entry.flops(task.problem, task.config) / seconds;
  }

  /// Of half a round trip, without what a launch takes itself.
  double signalLatency() {
    Program play = context_.compile(pingPong());
    Tensor y = context_.tensor<i32>({8});
    double empty = timeOf(2, [&] { play(0, y); });
    for (int rounds = 8;; rounds *= 8) {
      double seconds = timeOf(2, [&] { play(rounds, y); });
      if (seconds > empty + kEnough || rounds >= 4096)
        return std::max(seconds - empty, 1e-9) / (2 * rounds);
    }
  }

  /// By all cores, and by those that a collective between two ranks chooses: a link is fastest when fewer contend
  /// for it. Between more, all cores send.
  double bestCoreBandwidth() {
    heuristics::Senders some = heuristics::chooseSenders(sizes_.copied / (kRows * kRowBytes),
                                                         placement_.cores, context_.ranks());
    double all = coreBandwidth({}, sizes_.copied);
    return some.cores == 0 ? all : std::max(all, coreBandwidth(some, sizes_.copied));
  }

  double coreBandwidth(const heuristics::Senders &senders, int64_t most) {
    auto rows = static_cast<int>(kRows * senders.batch);
    Program send = context_.compile(putToNext(rows, kColumns, static_cast<int>(senders.cores)));
    Tensor y = context_.tensor<i32>({8});
    return rate(rows * kRowBytes, most, 1, [&](int64_t bytes) {
      Tensor x = context_.tensor<bf16>({bytes / kRowBytes, kColumns});
      return timeOf(4, [&] { send(x, y); });
    });
  }

  void measureHostCopies() {
    std::unique_ptr<HostCopies> copies = makeHostCopies(context_, size_t(sizes_.copied));
    set(&Calibration::copyBandwidth, rate(1 << 20, sizes_.copied, 1, [&](int64_t bytes) {
      return timeOf(4, [&] { copies->enqueue(size_t(bytes)); });
    }));
    set(&Calibration::copyLatency, timeOf(50, [&] {
      copies->enqueue(size_t(kFew));
      copies->enqueue(8); // the signal
    }));
    copies->close();
  }

  /// An all-gather: NCCL's, or on CPUs ditron's own.
  void measureCollective() {
    bool isGpu = !context_.device()->isHostAccessible();
    std::string why;
    auto nccl = isGpu ? baselines::Communicator::of(context_, {1, context_.ranks()}, why) : nullptr;
    if (isGpu && !nccl) {
      result_.notes.push_back("the library's collectives: " + why);
      return;
    }
    Program own = context_.compile(kernels::allGather(DType::bf16));
    auto seconds = [&](int64_t bytes) {
      Tensor x = context_.tensor<bf16>({bytes / kRowBytes, kColumns});
      Tensor y = context_.tensor<bf16>({context_.ranks() * bytes / kRowBytes, kColumns});
      return timeOf(8, [&] {
        if (nccl)
          nccl->allGather(
              cuda::address(x), cuda::address(y), x.elements(), DType::bf16,
              dynamic_cast<runtime::nvidia::GpuStream &>(context_.stream().handle()).driver());
        else
          own(x, y);
      });
    };
    double latency = seconds(kRowBytes);
    double moved = double(context_.ranks() - 1) / double(context_.ranks());
    set(&Calibration::collectiveLatency, latency);
    set(&Calibration::collectiveBandwidth,
        rate(1 << 20, sizes_.copied / 4, moved * double(context_.ranks()),
             [&](int64_t bytes) { return std::max(seconds(bytes) - latency, 1e-9); }));
  }

  Context &context_;
  const Placement &placement_;
  Sizes sizes_;
  Measurement result_;
};

} // namespace

Measurement measure(const Placement &placement) {
  if (!placement.traits.coresAreChosen)
    baselines::loadNccl();
  std::mutex lock;
  Measurement result;
  runOnRanks(runtimeOptions(placement), [&](Context &context) {
    Measurement mine = RankMeasurement(context, placement).run();
    std::lock_guard guard(lock);
    result = std::move(mine);
  });
  return result;
}

} // namespace ditron::tools
