// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/Parts.h"
#include <cmath>

namespace ditron::kernels {

Tile activate(Activation activation, const Tile &x) {
  switch (activation) {
  case Activation::relu:
    return maximum(x, 0);
  case Activation::silu:
    return x * sigmoid(x);
  case Activation::gelu:
    return x * (erf(x * std::sqrt(0.5)) + 1) * 0.5;
  case Activation::none:
    break;
  }
  return x;
}

//===-- Configurations ------------------------------------------------------------------------===//

std::vector<ConfigParameter> gemmParameters() {
  return {{"m", "rows of a tile of C", {16, 32, 64, 128, 256}},
          {"n", "columns of a tile of C", {32, 64, 128, 256}},
          {"k", "terms a step adds", {32, 64, 128, 256}},
          {"group", "rows of tiles walked together", {1, 4, 8, 16}}};
}

GemmConfig gemmTile(const Problem &problem, int64_t rows) {
  GemmConfig tile;
  bool isGpu = problem.machine == Machine::gpu;
  tile.m = static_cast<int>(fit(rows, isGpu ? 128 : 64));
  tile.n = static_cast<int>(fit(problem["N"], isGpu ? 256 : 128));
  tile.k = static_cast<int>(fit(problem["K"], isGpu ? 64 : 256));
  return tile;
}

//===-- References ----------------------------------------------------------------------------===//

static double activated(Activation activation, double x) {
  switch (activation) {
  case Activation::relu:
    return std::max(x, 0.0);
  case Activation::silu:
    return x / (1 + std::exp(-x));
  case Activation::gelu:
    return x * (std::erf(x * std::sqrt(0.5)) + 1) * 0.5;
  case Activation::none:
    break;
  }
  return x;
}

double roundTo(DType type, double value) {
  alignas(8) std::byte element[8];
  storeElement(type, element, value);
  return loadElement(type, element);
}

Expected expectedSum(const ReferenceSum &sum, DType type, Activation activation) {
  if (!isFloat(type))
    return Expected::exact(sum.value);
  // The slope of each activation is below 1.13, and its own arithmetic adds a few roundings.
  double magnitude = activation == Activation::none ? sum.magnitude : 2 * sum.magnitude;
  double plain = roundTo(DType::f32, activated(activation, sum.plain));
  return {activated(activation, sum.value), roundTo(type, plain), magnitude, sum.terms};
}

ReferenceSum productOf(const Inputs &in, int64_t rank, int64_t row, int64_t firstOfB,
                       int64_t column, int64_t K) {
  ReferenceSum sum;
  for (int64_t k = 0; k < K; ++k)
    sum.addProduct(in.at(rank, 0, row, k), in.at(rank, 1, firstOfB + k, column));
  return sum;
}

} // namespace ditron::kernels
