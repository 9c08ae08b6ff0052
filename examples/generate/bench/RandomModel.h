// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model of random numbers, made where it is used: no file, and nothing passes through the host.
#pragma once
#include "bench/Presets.h"
#include "model/Step.h"

namespace generate {

/// How the matrices of a model are held. Embeddings are numbers of the type.
struct WeightType {
  ditron::DType numbers;
  Storage storage = Storage::plain;
};

/// Fills matrices of a device. The same seeds give the same numbers on every device.
class RandomFill {
public:
  explicit RandomFill(const ditron::Context &ctx) : ctx_(ctx) {}
  /// Elements in [-bound, bound) of a dense tensor of f32, f16 or bf16, of one dimension or more.
  void operator()(const Tensor &tensor, double bound);
  /// Any bytes.
  void fillBytes(const Tensor &tensor);

private:
  const ditron::Context &ctx_;
  int64_t seed_ = 1; ///< of the next tensor
};

enum class Contents { random, undefined };
/// The weights of this rank, whose products are about as large as their inputs.
Weights randomWeights(const ditron::Context &ctx, const Preset &preset, const WeightType &type,
                      int64_t positions, Contents contents = Contents::random);
/// Bytes of the weights that a step reads, but for the embeddings.
int64_t bytesOf(const Weights &weights);

} // namespace generate
