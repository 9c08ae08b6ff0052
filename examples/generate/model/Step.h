// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/task/TaskGraph.h"
#include "model/Weights.h"

namespace generate {

/// Keys and values of a layer, by sequence, head and position.
struct LayerCache {
  Tensor keys, values;
};

/// One step of a model as a graph: step(token[B], position[B]) -> best[B], logits[B,V]. It takes the
/// next token of each of B sequences and its position (i32), and gives the logits of the token behind
/// it and the one with the largest. `sequences`: B, by which tiles are chosen.
ditron::TaskGraph stepOf(const ditron::Context &ctx, const Architecture &model,
                         const Weights &weights, const std::vector<LayerCache> &caches,
                         int64_t sequences);

} // namespace generate
