// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order that the producer of a kernel of several ranks keeps: it loads tiles ahead of the
// consumer, and must not load what is not there yet.
//
// A tile that another rank or CTA brings is there when a wait has returned that comes before its
// load, so the producer waits where the program does. What the CTA itself has written comes before
// its loads in program order, so behind each op that writes memory which the producer reads, it
// waits for the consumer to come there: at a gate.
#pragma once
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace ditron::nvidia {

/// Marks the producer's waits (unit attribute).
inline constexpr llvm::StringLiteral kProducerAttr = "nvidia.producer";

class Guards {
public:
  /// `loads`: of the tiles that the producer loads.
  Guards(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Operation *> loads)
      : function_(function), loads_(loads) {}

  /// Whether an op may be executed before some tile is loaded.
  bool precedesLoad(mlir::Operation *op) const;
  /// The waits that may come before some tile is loaded.
  llvm::SmallVector<WaitOp> waits() const;
  /// Where gates are, behind which tiles are loaded: each op with all that is in it, which some op
  /// of `writers` is, or is in.
  llvm::SetVector<mlir::Operation *> gates(llvm::ArrayRef<mlir::Operation *> writers) const;

private:
  mlir::func::FuncOp function_;
  llvm::SmallVector<mlir::Operation *> loads_;
};

} // namespace ditron::nvidia
