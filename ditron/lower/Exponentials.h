// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace ditron::lower {

/// What a target has for powers of two.
enum class PowerInstruction {
  scale, ///< x * 2^n of vectors of 16 lanes, vscalefps of AVX-512; other vectors are scaled in two
         ///< steps
  exp2   ///< 2^x to 2 ulp, ex2.approx of PTX
};

/// Rewrites math.exp and math.exp2 of f32 (scalars and vectors of one dimension) to arithmetic: to
/// 1 ulp, with exp2 to 4.
void populateExponentialPatterns(mlir::RewritePatternSet &patterns, PowerInstruction power);

} // namespace ditron::lower
