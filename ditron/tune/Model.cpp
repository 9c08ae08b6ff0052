// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/tune/Model.h"
#include <algorithm>
#include <cmath>

namespace ditron::tune {

using kernels::Config;
using kernels::KernelEntry;
using kernels::Problem;

namespace {

constexpr double kRegisters = 65536, kSharedBytes = 228.0 * 1024; // of a multiprocessor
constexpr double kReserved = 1024;                                // shared bytes of a core besides
constexpr double kThreads = 2048;
constexpr double kBesideValues = 40; ///< registers of a thread that hold no tile

/// Cores of a multiprocessor at a time.
double coresOf(const GpuResources &resources) {
  double byThreads = std::floor(kThreads / resources.threads);
  double byShared = std::floor(kSharedBytes / (double(resources.sharedBytes) + kReserved));
  return std::max(1.0, std::min({double(resources.resident), byThreads, byShared}));
}

/// How much longer a kernel takes for values that have no register.
double spilling(const GpuResources &resources) {
  constexpr double kPerRegister = 0.01, kMost = 255;
  double available = std::min(
      kMost, kRegisters / (double(resources.threads) * std::max<int64_t>(1, resources.resident)));
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
  double waves = std::ceil(tiles / double(problem.multiprocessors));
  return waves * m * n * (kOfTile + kOfOperands * (1 / m + 1 / n));
}

double secondsOfMemory(const GpuResources &resources) {
  constexpr double kUnderWay = 48 * 1024; ///< bytes of a multiprocessor that keep memory busy
  constexpr double kShort = 0.1;          ///< longer, where there are half as many
  constexpr double kPerWarp = 0.028;      ///< of a core whose warps meet in shared memory
  constexpr double kBytes = 2;            ///< of a value, at least
  double bytes = coresOf(resources) * resources.threads * double(resources.values) * kBytes;
  double waiting = resources.sharedBytes ? kPerWarp * resources.threads / 32 : 0;
  double missing = std::max(0.0, kUnderWay / std::max(1.0, bytes) - 1);
  return (1 + waiting) * (1 + kShort * missing) * spilling(resources);
}

} // namespace

double predictSeconds(const KernelEntry &entry, const Problem &problem, const Config &config,
                      const GpuResources &resources) {
  return entry.flops ? secondsOfProduct(problem, config) : secondsOfMemory(resources);
}

} // namespace ditron::tune
