// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the producer of a kernel of several ranks has to keep to: it fetches tiles ahead of the role
// that computes, and must not fetch what is not there yet.
//
// A tile that another rank or core brings is there when a wait has returned that comes before its
// load, so the producer waits where the program does. What the core itself has written comes before
// its loads in program order, so behind each op that writes memory which is fed the producer waits
// for the other role to come there: at a gate.
#pragma once
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace ditron::nvidia {

/// Marks the producer's waits (unit attribute).
inline constexpr llvm::StringLiteral kFeedingAttr = "nvidia.feeding";

class Guards {
public:
  /// `loads`: of the tiles that the producer fetches.
  Guards(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Operation *> loads)
      : function_(function), loads_(loads) {}

  /// Whether an op may be executed before some tile is fetched.
  bool precedesFetch(mlir::Operation *op) const;
  /// The waits that may come before some tile is fetched.
  llvm::SmallVector<WaitOp> waits() const;
  /// Where gates are, behind which tiles are fetched: each op with all that is in it, which some op
  /// of `writers` is, or is in.
  llvm::SetVector<mlir::Operation *> gates(llvm::ArrayRef<mlir::Operation *> writers) const;

private:
  mlir::func::FuncOp function_;
  llvm::SmallVector<mlir::Operation *> loads_;
};

} // namespace ditron::nvidia
