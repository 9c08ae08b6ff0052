// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace ditron::lower {

/// Rewrites math.exp and math.exp2 of f32 (scalars and vectors of one dimension) to arithmetic.
/// `hasScale`: vectors of 16 lanes are scaled by powers of two in one instruction of AVX-512.
void populateExponentialPatterns(mlir::RewritePatternSet &patterns, bool hasScale);

} // namespace ditron::lower
