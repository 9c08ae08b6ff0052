// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensor maps of a kernel, and its TMA stores.
#pragma once
#include "ditron/core/TileOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ditron::nvidia {

/// The tensor maps of a kernel: arguments, one for each argument and box.
class TensorMaps {
public:
  explicit TensorMaps(mlir::func::FuncOp function) : function_(function) {}

  /// For boxes of `rows` rows. `choice`: one of those of the load's view (gpu::choicesOf). `isFitted`: a box has no
  /// more rows than the argument, rounded up.
  mlir::Value of(core::LoadOp load, mlir::Value choice, int64_t rows, bool isFitted);
  mlir::Value of(core::StoreOp store);

private:
  /// For boxes of `rows` rows, along dimension `row`, of 128 bytes. The pages of symmetric memory
  /// are a first dimension.
  mlir::Value of(mlir::BlockArgument view, mlir::Type element, unsigned row, int64_t rows,
                 bool hasPages, bool isFitted = false);

  mlir::func::FuncOp function_;
};

/// Stores of tiles as products leave them become TMA stores, which are complete before what releases
/// or copies them. `warps`: that compute.
void storeByTma(mlir::func::FuncOp function, int64_t warps, TensorMaps &maps);

} // namespace ditron::nvidia
