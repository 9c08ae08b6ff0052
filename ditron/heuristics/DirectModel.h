// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model of the time of a product and its collective without overlap, in one kernel: all cores copy
// operands that are to be packed, multiply, send what they have at once, and add what arrives. It
// holds for few rows and small shapes, where the latencies of copy engines outweigh what they hide.
#pragma once
#include "ditron/heuristics/OverlapModel.h"

namespace ditron::heuristics {

struct DirectChoice {
  double packSeconds = 0; ///< of copies of the operands, made before
  int64_t parts = 1;      ///< of K, whose sums all travel; of all-reduce
  int64_t sumBytes = 2;   ///< of an element of the sums that travel
};

/// What a choice takes, where the tiles alone take `product` seconds.
Prediction predictDirect(const OverlapProblem &problem, const DirectChoice &choice, double product,
                         const Calibration &calibration);

} // namespace ditron::heuristics
