// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a loop hands from one iteration to the next.
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ditron::device {

/// On an scf.for (unit attribute): its iterations may run in any order, though it cannot be seen.
inline constexpr llvm::StringLiteral kReorderableAttr = "dist.reorderable";

enum class Carry {
  none,      ///< no values; what iterations write is not looked at
  reduction, ///< sums, products or extrema, to which each iteration adds: any order will do
  marked,    ///< stated to be reorderable
  ordered,   ///< what an iteration computes depends on those before it
};

/// A value that takes part in a reduction does nothing else in the loop. Sums of floats count:
/// their order is not specified (tile.dot, tile.reduce).
Carry carryOf(mlir::scf::ForOp loop);

/// Whether iterations may run in any order, as far as values go.
inline bool isReorderable(Carry carry) { return carry != Carry::ordered; }

} // namespace ditron::device
