// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace ditron::nvidia {

/// Rewrites arith.divf and math.rsqrt, exp and exp2 of f32 (scalars and vectors of one dimension)
/// to instructions that are right to 2 ulp for all arguments.
void addApproximatePatterns(mlir::RewritePatternSet &patterns);

} // namespace ditron::nvidia
