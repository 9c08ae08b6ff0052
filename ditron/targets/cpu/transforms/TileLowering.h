// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles on a CPU core.
//
// A tile is an expression: the vectors of its elements are computed from the vectors of its
// operands. Loads, elementwise work and changes of shape are emitted where they are consumed, so a
// chain of them runs in registers with no tile in memory. What cannot be computed element by
// element (dot, reduce, scan, what loops carry), or would be computed more than once, is
// materialised: computed by a nest of loops into a buffer of the core's scratch memory, from which
// it is then loaded.
//
//   VectorBuilder      writes constants, arithmetic, loops over elements
//   access/            tiles of views: places, bounds, masked and whole reads and writes,
//   prefetches emission/          TileEmitter: one case an op, its vector from its operands'
//   vectors;
//                      Materialiser, Reductions, Dot, Stores: loops over all elements of a tile
//   fusion/            Inlining decides what is materialised; RowFusion has a store trail the
//                      reduction that it depends on, DeferredRow that of the next tile
//   TileLowering       walks the program
#pragma once
#include "ditron/targets/cpu/fusion/RowFusion.h"

namespace ditron::cpu {

/// Lowers the tiles of a function.
class TileLowering {
public:
  /// `arena`: the core's scratch memory, memref<?xi8>.
  TileLowering(mlir::func::FuncOp function, mlir::Value arena, const VectorTarget &target);

  /// Lowers every tile op; afterwards no value is a tile. Emits an error at an op that has no
  /// lowering.
  llvm::LogicalResult run();
  int64_t scratchBytes() { return buffers_.scratch().peak(); }

private:
  llvm::LogicalResult lowerBlock(mlir::Block &block);
  llvm::LogicalResult lowerOp(mlir::Operation *op);
  llvm::LogicalResult lowerFor(mlir::scf::ForOp loop);
  llvm::LogicalResult lowerIf(mlir::scf::IfOp branch);
  llvm::LogicalResult lowerOther(mlir::Operation *op);
  llvm::LogicalResult lowerExpression(mlir::Operation *op);
  void lowerScalar(mlir::Operation *op);
  void lowerYield(mlir::Operation *yield, llvm::ArrayRef<mlir::Value> buffers);
  void addRead(mlir::Operation *op);
  void materialise(mlir::Value tile);
  void reshape(mlir::Value tile);

  mlir::func::FuncOp function_;
  VectorBuilder v_;
  TileBuffers buffers_;
  ViewReads reads_;
  Prefetches prefetches_;
  TileEmitter emitter_;
  Materialiser materialiser_;
  Stores stores_;
  Inlining inlining_;
  RowFusion rowFusion_;
  llvm::SmallVector<mlir::Operation *> dead_;
};

} // namespace ditron::cpu
