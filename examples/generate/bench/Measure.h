// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "bench/Options.h"
#include "bench/RandomModel.h"
#include "model/Decoder.h"

namespace generate {

/// What came out of a mode.
struct Measured {
  std::vector<Token> tokens;  ///< of the checked steps, all rows of each
  std::vector<float> logits;  ///< of the first row of the last of them
  double prepareSeconds = 0;  ///< to compile
  double median = 0, min = 0; ///< seconds of a step, of which several are enqueued at a time
  double roundTrip = 0;   ///< the same with its tokens read, and given to the next step: the median
  int64_t cacheBytes = 0; ///< of keys and values that a step reads
  int64_t steps = 0;      ///< that were timed
};

/// Takes the checked steps of a batch of sequences, then times steps; collective.
Measured measure(const ditron::Context &ctx, const BenchOptions &line, const Architecture &model,
                 const Weights &weights, ditron::Mode mode);

/// Takes some steps of a mode that are recorded, and writes the last one; collective.
void recordStep(ditron::Context &ctx, const BenchOptions &line, const Architecture &model,
                const Weights &weights, ditron::Mode mode);

} // namespace generate
