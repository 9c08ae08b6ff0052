// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model of random numbers, made where it is used: no file, and nothing passes through the host.
#pragma once
#include "bench/Presets.h"
#include "model/Step.h"

namespace generate {

/// Fills matrices of a device. The same seeds give the same numbers on every device.
class RandomFill {
public:
  explicit RandomFill(const ditron::Context &ctx) : ctx_(ctx) {}
  /// Elements in [-bound, bound) of a dense tensor of f32, f16 or bf16, of one dimension or more.
  void operator()(const Tensor &tensor, double bound);

private:
  const ditron::Context &ctx_;
  int64_t seed_ = 1; ///< of the next tensor
};

/// The weights of this rank, matrices of `type`, whose products are about as large as their inputs.
Weights randomWeights(const ditron::Context &ctx, const Preset &preset, ditron::DType type,
                      int64_t positions);
/// Bytes of the weights that a step reads, but for the embeddings.
int64_t bytesOf(const Weights &weights);

} // namespace generate
