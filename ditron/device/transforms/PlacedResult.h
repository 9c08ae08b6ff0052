// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A result that is summed over the ranks, and the loop that stores it: what dist-place-results
// asks of a kernel.
#pragma once
#include "ditron/device/transforms/PlacedKernel.h"
#include "ditron/device/transforms/SumCut.h"

namespace ditron::device {

struct PlacedResult {
  PlacedArgument placed;
  std::string text; ///< "'C' is reduce-scattered along M", as messages have it
  TilesOp tiles = {};
  core::StoreOp store = {};
  llvm::SmallVector<unsigned> variables = {}; ///< the grid's coordinate for each dimension of C
  llvm::SmallVector<int64_t> sizes = {};      ///< elements of a tile along each dimension of C
  SumCut cut = {};

  bool isScattered() const { return placed.placement.getKind() == PlacementKind::reduceScattered; }
  bool isByCores() const { return placed.placement.getEngine() == Engine::core; }
  /// The dimension of C whose tiles are dealt to the ranks: of an all-reduce the columns where
  /// cores move the sums in one round, else the rows.
  int64_t dim() const;
  /// In how many rounds the rows of all ranks' parts are computed.
  int64_t rounds() const;
  /// The element type in which summands of `sum` travel.
  mlir::Type travelType(mlir::Value sum) const;
  /// An error at `op` that begins with the placement.
  mlir::InFlightDiagnostic refuse(mlir::Operation *op) const;
};

/// The result that `placed` is. Fails with an error at the op where the kernel is not one loop over
/// tiles that stores each tile of it once, computed from a sum.
mlir::FailureOr<PlacedResult> findResult(mlir::func::FuncOp kernel, const PlacedArgument &placed);

} // namespace ditron::device
