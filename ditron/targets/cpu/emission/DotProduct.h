// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product on a CPU core: its operands, and the walk over blocks of rows of lhs that all ways of
// multiplying have.
#pragma once
#include "ditron/targets/cpu/emission/LaneProducts.h"
#include "ditron/targets/cpu/emission/RegisterBlock.h"
#include "ditron/targets/cpu/emission/TileEmitter.h"

namespace ditron::cpu {

/// What the lowering of a product writes code with.
struct DotContext {
  VectorBuilder &v;
  TileBuffers &buffers;
  const ViewReads &reads;
  TileEmitter &emitter;
};

/// m x n products of `depth` terms each, in vectors of `lanes` elements.
struct DotShape {
  int64_t m, n, depth, lanes;

  static DotShape of(core::DotOp op, const VectorBuilder &v);
};

/// A way to multiply.
class DotProduct {
public:
  virtual ~DotProduct() = default;

  /// Adds the product to what `result` holds.
  void addTo(mlir::Value result);

protected:
  /// `right`: what is read of rhs. `mayPair`: the way can multiply pairs of bf16.
  DotProduct(const DotContext &context, core::DotOp op, mlir::Value right, bool mayPair);

  /// Takes the buffers that the way has beside rows of lhs.
  virtual void allocate() = 0;
  /// Adds the product of one batch.
  virtual void multiply(mlir::Value out) = 0;
  /// Elements from one row of lhs to the next in its buffer.
  virtual int64_t rowPitch() const { return depth_; }

  ProductShape shape() const { return {m_, n_, lanes_, v_.target.registers}; }
  /// Of vectors of factors, whose products fill a vector of sums.
  int64_t lanesOfFactors() const { return lanes_ * products_.factors(); }
  /// The access of an operand that is read from a view where it is used, with zeros beyond it.
  const Access *edgeOf(mlir::Value operand) const;
  /// How far a dimension (2 rows, 1 columns, from the end) of an operand reaches into its view.
  mlir::Value knownExtent(mlir::Value operand, int64_t fromEnd, int64_t whole) const;
  mlir::Value emitFactor(mlir::Value operand, mlir::Value i, mlir::Value j, int64_t lanes,
                         Coverage coverage = Coverage::masked);
  /// Visits blocks of rows of lhs that hold something, from this one on.
  void forEachBlock(const std::function<void(mlir::Value row, int64_t height)> &visit,
                    int64_t first = 0);

  VectorBuilder &v_;
  TileBuffers &buffers_;
  const ViewReads &reads_;
  TileEmitter &emitter_;
  core::DotOp op_;
  mlir::Value right_;
  mlir::Type source_, element_; ///< of the operands, and of the accumulator
  int64_t m_, n_, depth_, lanes_;
  LaneProducts products_;
  RegisterBlock block_{1, 1};
  mlir::Value rows_;       ///< lhs, of source type in pairs: memref<rows x pitch>
  mlir::Value knownDepth_; ///< k up to which both operands hold something but zero
  At batch_;

private:
  bool isInPairs(mlir::Value right) const;
  void packRows();
  void multiplyMatrix(mlir::Value out);

  mlir::Value blocks_; ///< of rows of lhs that hold something
};

} // namespace ditron::cpu
