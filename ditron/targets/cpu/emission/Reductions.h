// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions and scans. Along the last dimension a row is combined in a few vectors at once, then
// across their lanes; along another dimension whole vectors combine. The order is fixed by the
// shapes, so results are the same on every run.
#pragma once
#include "ditron/targets/cpu/access/Prefetches.h"
#include "ditron/targets/cpu/emission/TileEmitter.h"

namespace ditron::cpu {

/// How the rows of a tile are combined, each into a scalar.
struct RowReduction {
  mlir::Value tile;
  core::ReduceKind kind;
  mlir::Value keep = {};    ///< where elements are kept as they are computed: the tile's own buffer
  Accesses prefetches = {}; ///< what is brought nearer meanwhile
};

/// What else is done where a vector of a row is computed, at a column, of so many elements.
using Beside = std::function<void(mlir::Value column, int64_t lanes)>;

class Reductions {
public:
  Reductions(VectorBuilder &v, const TileBuffers &buffers, const ViewReads &reads,
             Prefetches &prefetches, TileEmitter &emitter)
      : v_(v), buffers_(buffers), reads_(reads), prefetches_(prefetches), emitter_(emitter) {}

  /// Along the last dimension the elements may be kept besides.
  void lower(core::ReduceOp op, mlir::Value result, mlir::Value keep = {});
  void lower(core::ReduceIndexOp op, mlir::Value result);
  void lower(core::ScanOp op, mlir::Value result);

  /// All of row `at` (its last index is replaced) combined into a scalar.
  mlir::Value reduceRow(const RowReduction &reduction, At at, Coverage coverage,
                        const Beside &beside = {});

private:
  void lowerRows(core::ReduceOp op, mlir::Value result, mlir::Value keep);
  mlir::Value combine(core::ReduceKind kind, mlir::Value x, mlir::Value y);

  VectorBuilder &v_;
  const TileBuffers &buffers_;
  const ViewReads &reads_;
  Prefetches &prefetches_;
  TileEmitter &emitter_;
};

} // namespace ditron::cpu
