// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with epilogues: their signatures, and device functions of what is done to a sum before
// it is stored.
#pragma once
#include "ditron/kernels/functions/ElementTypes.h"
#include "ditron/kernels/kernels.h"
#include <array>
#include <optional>
#include <string>
#include <tuple>

namespace ditron::kernels {

/// A signature with those arguments that the configuration names; the rest are absent. `operands`:
/// "gemm(A[M,K], B[K,N]", `result`: "[M,N]".
std::string signatureOf(const GemmConfig &config, const std::string &operands,
                        const std::string &result);

/// CompileError where products of a type take no such epilogue.
void checkEpilogue(DType type, const GemmConfig &config, const char *kernel);

/// activation(x), x in f32.
Tile activate(Activation activation, const Tile &x);

/// The optional arguments of an epilogue, for results in R of `rank` dimensions.
template <class R, int rank> struct Epilogue {
  std::optional<In<R, 1>> bias;
  std::optional<In<R, rank>> residual;
  std::optional<Scalar<f32>> scale;
};

/// activation(scale * sum + bias), of what there is, in column `j` of tiles.
template <class R>
Tile activated(const GemmConfig &config, const Tile &sum, Index j,
               const std::optional<In<R, 1>> &bias, const std::optional<Scalar<f32>> &scale) {
  Var x = sum;
  if (scale)
    x *= *scale;
  if (bias)
    x += cast<f32>(bias->tiled(config.n)(j));
  return activate(config.activation, x);
}

/// The same, and the residual at a tile of C behind it.
template <class R, int rank>
Tile finished(const GemmConfig &config, const Tile &sum, const std::array<Index, size_t(rank)> &at,
              const Epilogue<R, rank> &epilogue) {
  Var x = activated(config, sum, at.back(), epilogue.bias, epilogue.scale);
  if (epilogue.residual)
    x += cast<f32>(std::apply(epilogue.residual->tiled(config.m, config.n), at));
  return x;
}

} // namespace ditron::kernels
