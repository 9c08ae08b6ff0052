// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Judges what a kernel wrote. Three checks, together of every element:
//
//   compared    elements against the kernel's reference, computed in double, within the criterion
//               of kernels/Reference.h. All of them where that takes a moment, else a sample
//               spread over the output.
//   projected   of products C = A * B: every row of C times random vectors, against the same rows
//               of A * (B * x) in double. An error in any element shows (see Projection.h).
//   written     no element is still the poison that stood there before, and none is NaN or
//               infinite that should not be.
//
// What kernels of files wrote is compared with what the interpreter computes (Interpretation.h).
#pragma once
#include "tools/ditron/launch/Operands.h"

namespace ditron::tools {

/// What was found on one rank in one launch, or the sum of several.
struct Findings {
  kernels::Verdict verdict;
  int64_t elements = 0;   ///< of the outputs
  int64_t projected = 0;  ///< of them, those in projected rows
  bool isComplete = true; ///< every element was compared

  void merge(const Findings &other);
  /// "full": every element compared; "projected": a sample, and every row projected; "sampled": a
  /// sample, and every element written and finite.
  const char *coverage() const;
};

/// Judges the outputs of `rank`. `seconds` is about how long the comparison of all elements may
/// take before a sample has to do.
Findings verify(const Task &task, const kernels::Inputs &inputs, int64_t rank,
                const Operands &operands, double seconds = 0.5);

} // namespace ditron::tools
