// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the producer can compute by itself: control flow and numbers that depend on no tile and on
// no memory that the kernel writes. What others write, waits tell of, which the producer repeats.
#pragma once
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace ditron::nvidia {

class Projection {
public:
  /// Whether a number, a condition or a view can be computed.
  bool computes(mlir::Value value);
  /// Whether the operands of an op can be, and those that all that is in it takes from outside.
  bool computesOperands(mlir::Operation *op);
  /// Whether the way to an op, loops and branches, can be found.
  bool reaches(mlir::Operation *op);

  /// Whether an op with all that is in it has no tiles, and no effect but to read what the kernel does
  /// not write, and to end the kernel.
  static bool isScalar(mlir::Operation *op);
  /// Whether it is found out by itself when an op, which is in branches to the end of the kernel,
  /// is executed.
  bool foresees(mlir::Operation *op);

private:
  bool computesAnew(mlir::Value value);

  llvm::DenseSet<mlir::Value> known_, missing_;
};

} // namespace ditron::nvidia
