// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/heuristics/CpuGemmTiles.h"
#include "ditron/heuristics/Extents.h"
#include <cmath>
#include <limits>
#include <vector>

namespace ditron::heuristics {

/// What a core with the most to do spends on its tiles of m x n, in element updates. A tile costs
/// as much again per 1/m and 1/n: operands are packed once a tile. The constant was fitted to 1024
/// x 1024 x 1024 in f32 (0.82 of OpenBLAS at 128 x 256, 0.90 at 512 x 512).
static double costOf(const GemmShape &shape, int64_t m, int64_t n) {
  constexpr double kPacking = 12;
  constexpr double kMany = 1 << 14; // of which every core gets as much as the others
  int64_t M = shape.M, N = shape.N, cores = shape.cores;
  double rows = std::ceil(double(M) / double(m)), columns = std::ceil(double(N) / double(n));
  if (rows * columns > kMany * double(cores))
    return (double(M) * double(N) + kPacking * (columns * double(M) + rows * double(N))) /
           double(cores);
  std::vector<double> load(static_cast<size_t>(cores));
  size_t core = 0;
  for (int64_t i = 0; i < M; i += m)
    for (int64_t j = 0; j < N; j += n) {
      auto height = static_cast<double>(std::min(m, M - i));
      auto width = static_cast<double>(std::min(n, N - j));
      load[core] += height * width + kPacking * (height + width);
      core = (core + 1) % load.size();
    }
  return *std::max_element(load.begin(), load.end());
}

PairedTile cpuGemmTile(const GemmShape &shape) {
  PairedTile best;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t m : {64, 128, 192, 256, 384, 512})
    for (int64_t n : {64, 128, 256, 384, 512}) {
      int64_t height = fit(shape.M, m), width = fit(shape.N, n);
      double cost = costOf(shape, height, width);
      if (cost < least) {
        least = cost;
        best.m = static_cast<int>(height);
        best.n = static_cast<int>(width);
      }
    }
  best.k = static_cast<int>(fit(shape.K, 256));
  return best;
}

} // namespace ditron::heuristics
