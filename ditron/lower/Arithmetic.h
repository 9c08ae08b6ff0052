// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic as the language defines it, in operations that LLVM defines; for scalars and vectors.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace ditron::lower {

/// Guards the integer divisions and shifts of the module: LLVM leaves open, and CPUs trap on, what
/// core/Elementwise.def defines. By zero a quotient and a remainder are 0; the lowest number by -1
/// wraps; the amount of a shift counts modulo 64, and beyond the width every bit is shifted out.
void defineIntegers(mlir::ModuleOp module);
/// The same of unsigned numbers, of tiles too, under an op. Passes divide them as well, by what is not 0: only what
/// a kernel says itself is guarded.
void defineUnsigned(mlir::Operation *root);

/// Rewrites math.log, log2, sin and cos, arith.remf, minimumf and maximumf of f32 (scalars and
/// vectors of one dimension) to operations that are instructions.
void populateMathsPatterns(mlir::RewritePatternSet &patterns);

} // namespace ditron::lower
