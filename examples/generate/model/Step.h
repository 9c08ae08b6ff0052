// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "model/Launches.h"
#include "model/Weights.h"

namespace generate {

/// Keys and values of a layer, by sequence, head and position.
struct LayerCache {
  Tensor keys, values;
};

/// What a step takes and leaves.
struct StepTensors {
  Tensor token, position; ///< of each sequence, in i32
  std::vector<LayerCache> caches;
  Tensor logits; ///< of the next token
  Tensor best;   ///< the token with the largest
};

/// Adds one step of a model to the launches: one token of each of the sequences that `token` and
/// `position` have room for. Fills in `logits` and `best`.
void addStep(Launches &launches, const ditron::Context &ctx, const Architecture &model,
             const Weights &weights, StepTensors &tensors);

} // namespace generate
