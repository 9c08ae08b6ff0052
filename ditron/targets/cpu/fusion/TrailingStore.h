// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/targets/cpu/emission/ViewReads.h"
#include "ditron/targets/cpu/fusion/Inlining.h"
#include <optional>

namespace ditron::cpu {

/// A reduction along rows of a tile that is kept, a store that depends on it row by row, and the
/// ops that are materialised in between.
struct TrailingStore {
  core::ReduceOp reduce;
  core::StoreOp store;
  llvm::SmallVector<mlir::Operation *> between;

  mlir::Value source() const { return core::ReduceOp(reduce).getSource(); }
  mlir::Value reduced() const { return core::ReduceOp(reduce).getResult(); }
  mlir::Value stored() const { return core::StoreOp(store).getTile(); }
  /// Whether `value` is one of those that have a buffer in between.
  bool materialises(mlir::Value value) const {
    return value == source() || value == reduced() ||
           llvm::is_contained(between, value.getDefiningOp());
  }
};

/// The store of the block that can trail a reduction along the rows of a tile, a row behind it.
std::optional<TrailingStore> findTrailingStore(core::ReduceOp reduce, const VectorBuilder &v,
                                               const TileBuffers &buffers, const ViewReads &reads,
                                               const Inlining &inlining);

} // namespace ditron::cpu
