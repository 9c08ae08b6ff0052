// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile is an expression: emit(tile, at, lanes) writes the code that computes `lanes` neighbouring
// elements of its last dimension, as one vector, from the vectors of its operands. Tiles that have
// been materialised are loaded from their buffers.
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/targets/cpu/emission/ViewReads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace ditron::cpu {

/// Whether a reshape joins the last dimensions of its source, whose rows are of whole vectors.
bool joinsRows(core::ReshapeOp op);

class TileEmitter {
public:
  TileEmitter(VectorBuilder &v, const TileBuffers &buffers, const ViewReads &reads)
      : v_(v), buffers_(buffers), reads_(reads) {}

  mlir::Value emit(mlir::Value tile, const At &at, int64_t lanes,
                   Coverage coverage = Coverage::masked);
  /// The same of what an op computes, whether or not that has a buffer.
  mlir::Value emitOp(mlir::Operation *op, const At &at, int64_t lanes,
                     Coverage coverage = Coverage::masked);
  /// The same, and prefetches the lines that reads of views find `rows` rows further on. Of the
  /// vectors of a line, `which` are counted from its start, the first does it.
  mlir::Value emitAhead(mlir::Value tile, const At &at, int64_t lanes, Coverage coverage,
                        int64_t rows, int64_t which);
  mlir::Value scalarAt(mlir::Value tile, const At &at, Coverage coverage = Coverage::masked);
  /// The same in the tile's element type, as scalars of the program are.
  mlir::Value scalarOf(mlir::Value tile, const At &at);

private:
  mlir::Value emitConstant(mlir::arith::ConstantOp constant, int64_t lanes);
  mlir::Value emitGather(core::GatherOp gather, const At &at, int64_t lanes, Coverage coverage);
  mlir::Value emitElementwise(mlir::Operation *op, const At &at, int64_t lanes, Coverage coverage);
  mlir::Value emitBroadcast(core::BroadcastOp op, const At &at, int64_t lanes, Coverage coverage);
  mlir::Value emitTranspose(core::TransposeOp op, const At &at, int64_t lanes, Coverage coverage);
  mlir::Value emitReshape(core::ReshapeOp op, const At &at, int64_t lanes, Coverage coverage);
  At placesIn(llvm::ArrayRef<int64_t> extents, mlir::Value number);
  mlir::Value emitIota(core::IotaOp op, const At &at, int64_t lanes);
  mlir::Value collect(mlir::Value source, const At &at, int64_t dimension, int64_t lanes,
                      Coverage coverage);

  mlir::Value emitLoad(core::LoadOp load, const At &at, int64_t lanes, Coverage coverage);
  void bringNearer(const Access &access, At at);

  /// What reads of views bring nearer besides.
  struct Ahead {
    int64_t rows, firstElement; ///< further on; of the vector, from the start of a line
  };

  VectorBuilder &v_;
  const TileBuffers &buffers_;
  const ViewReads &reads_;
  std::optional<Ahead> ahead_;
};

} // namespace ditron::cpu
