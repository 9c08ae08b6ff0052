// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/tune/Model.h"
#include <algorithm>
#include <cmath>

namespace ditron::tune {

using kernels::Config;
using kernels::KernelEntry;
using kernels::Problem;

namespace {

constexpr double kBesideValues = 40; ///< registers of a thread that hold no tile

/// CTAs of an SM at a time.
double ctasOf(const GpuResources &resources, const DeviceTraits &target) {
  double byThreads = std::floor(double(target.threadsPerSm) / resources.threads);
  double byShared =
      std::floor(double(target.sharedBytesPerSm) /
                 double(std::max<int64_t>(1, resources.sharedBytes + target.reservedBytesPerCta)));
  return std::max(1.0, std::min({double(resources.ctasPerSm), byThreads, byShared}));
}

/// How much longer a kernel takes for values that have no register.
double spilling(const GpuResources &resources, const DeviceTraits &target) {
  constexpr double kPerRegister = 0.01;
  double threads = double(resources.threads) * double(std::max<int64_t>(1, resources.ctasPerSm));
  double available =
      std::min(double(target.registersPerThread), double(target.registersPerSm) / threads);
  double missing = double(resources.values) + kBesideValues - available;
  return 1 + kPerRegister * std::max(0.0, missing);
}

/// What multiplies has the registers that it needs, or is refused.
double secondsOfProduct(const Problem &problem, const Config &config) {
  constexpr double kOfTile = 0.7, kOfOperands = 27; // of a tile of m x n: this + that (1/m + 1/n)
  auto extent = [&](const char *name) {
    auto found = problem.dims.find(name);
    return found == problem.dims.end() ? 1.0 : double(found->second);
  };
  double rows = extent("M") * extent("T") * extent("B"), columns = extent("N");
  auto m = double(config.valueOr("m", 128)), n = double(config.valueOr("n", 128));
  double tiles = std::ceil(rows / m) * std::ceil(columns / n);
  double waves = std::ceil(tiles / double(problem.target.sms));
  return waves * m * n * (kOfTile + kOfOperands * (1 / m + 1 / n));
}

double secondsOfMemory(const GpuResources &resources, const DeviceTraits &target) {
  constexpr double kUnderWay = 48 * 1024; ///< bytes of an SM that keep memory busy
  constexpr double kShort = 0.1;          ///< longer, where there are half as many
  constexpr double kPerWarp = 0.028;      ///< of a CTA whose warps meet in shared memory
  constexpr double kBytes = 2;            ///< of a value, at least
  double bytes = ctasOf(resources, target) * resources.threads * double(resources.values) * kBytes;
  double waiting = resources.sharedBytes ? kPerWarp * resources.threads / double(target.lanes) : 0;
  double missing = std::max(0.0, kUnderWay / std::max(1.0, bytes) - 1);
  return (1 + waiting) * (1 + kShort * missing) * spilling(resources, target);
}

} // namespace

double predictSeconds(const KernelEntry &entry, const Problem &problem, const Config &config,
                      const GpuResources &resources) {
  return entry.flops ? secondsOfProduct(problem, config)
                     : secondsOfMemory(resources, problem.target);
}

} // namespace ditron::tune
