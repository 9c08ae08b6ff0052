// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace ditron::cpu {

/// Rewrites math.exp and math.exp2 of f32 (scalars and vectors of one dimension) to arithmetic.
void populateExponentialPatterns(mlir::RewritePatternSet &patterns);

} // namespace ditron::cpu
