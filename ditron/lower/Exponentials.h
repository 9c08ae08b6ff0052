// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace ditron::lower {

/// Rewrites math.exp and math.exp2 of f32 (scalars and vectors of one dimension) to arithmetic, to
/// 1 ulp. Vectors of 16 lanes are scaled by vscalefps of AVX-512.
void populateExponentialPatterns(mlir::RewritePatternSet &patterns);

} // namespace ditron::lower
