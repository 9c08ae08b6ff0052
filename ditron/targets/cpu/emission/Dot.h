// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dot on a CPU core, after the panel-and-register blocking of Goto and van de Geijn ("Anatomy of
// High-Performance Matrix Multiplication", 2008): rhs is packed into panels as wide as the
// micro-kernel, so that one panel stays in the first-level cache while all of lhs, rows one after
// another in the second-level cache, passes by; the micro-kernel keeps rows x columns of the result
// in vector registers over the whole depth.
//
//   for each panel of `columns` of rhs:       packed[depth][columns]
//     for each `rows` rows of lhs:            rows[rows][depth]
//       registers = acc; for k: registers += rows[:, k] x packed[k, :]; result = registers
//
// Where the registers hold columns for all rows of lhs, each element of rhs is used once: it is read
// where it lies, with no panel.
//
// Rows by rows (rhs is transposed where it is read) need no packing of rhs: sums of pairs of rows run
// along them, and each row of rhs is read on end, once where lhs has few rows.
//
//   for each `columns` rows of rhs, for each `rows` rows of lhs:
//     registers = 0; for k, a vector at a time: registers += rows[:, k] * rhs[:, k]
//     result += the sums of the lanes of each
//
// Where registers hold all vectors of the rows of lhs, rows of rhs are read one after the other, as
// they lie:
//
//   for each row of rhs: registers = 0; for k, for each row of lhs: registers += lhs[:, k] * rhs[:, k]
//     result += the sums of the lanes of each
//
// Operands read from the edge of a view are zero beyond it: the loops stop at the last row of lhs,
// column of rhs and k that hold anything.
#pragma once
#include "ditron/targets/cpu/emission/LaneProducts.h"
#include "ditron/targets/cpu/emission/RegisterBlock.h"
#include "ditron/targets/cpu/emission/TileEmitter.h"

namespace ditron::cpu {

/// The rows that a dot multiplies by rows of lhs: the source of a transpose, its only reader; null
/// where rhs is none, its rows are shorter than a vector, or lhs has many.
mlir::Value rowsOfRight(core::DotOp op, int64_t lanes);

/// Lowers one dot.
class DotLowering {
public:
  DotLowering(VectorBuilder &v, TileBuffers &buffers, const ViewReads &reads, TileEmitter &emitter,
              core::DotOp op);

  /// Adds the product to what `result` holds.
  void addTo(mlir::Value result);

private:
  ProductShape shape() const { return {m_, n_, lanes_, v_.target.registers}; }
  bool multipliesPairs();
  bool isReadAsItIs() const;
  /// Of vectors of factors, whose products fill a vector of sums.
  int64_t lanesOfFactors() const { return lanes_ * products_.factors(); }
  void multiplyMatrix(mlir::Value out);
  void multiplyDirectly(mlir::Value out);
  void multiplyByRows(mlir::Value out);
  void multiplyRows(mlir::Value out, mlir::Value column, int64_t columns, Coverage coverage);
  void multiplyByHeldRows(mlir::Value out);
  using VisitRight = std::function<void(mlir::Value column, int64_t columns, Coverage coverage)>;
  void forEachRight(const VisitRight &visit);
  void forEachBlock(const std::function<void(mlir::Value row, int64_t height)> &visit);
  void forEachColumns(
      const std::function<void(mlir::Value column, llvm::ArrayRef<int64_t> widths)> &visit);
  int64_t rowsInCache() const;
  int64_t rowsOfPart() const;
  bool isFollowed() const;
  void multiplyPart(mlir::Value out, mlir::Value first, mlir::Value limit, Coverage coverage);
  /// Of a part of the rows of rhs, those from `first` on: a walk over some columns is at row k.
  struct Step {
    mlir::Value first, column, k;
  };
  void prefetchPart(const Access &ahead, const Step &step);
  void packRight(mlir::Value column, int64_t columns, Coverage coverage);
  void multiplyPanel(mlir::Value out, mlir::Value column, llvm::ArrayRef<int64_t> widths);
  void packRows();
  void packPanel(mlir::Value column, llvm::ArrayRef<int64_t> widths);
  mlir::Value emitFactor(mlir::Value operand, mlir::Value i, mlir::Value j, int64_t lanes,
                         Coverage coverage = Coverage::masked);
  mlir::Value emitColumns(mlir::Value k, mlir::Value column, int64_t n,
                          llvm::ArrayRef<int64_t> widths, Coverage coverage);
  int64_t rowsAhead() const;
  mlir::Value emitRight(mlir::Value row, mlir::Value k, int64_t lanes, int64_t which,
                        Coverage coverage);
  const Access *edgeOf(mlir::Value operand) const;

  VectorBuilder &v_;
  TileBuffers &buffers_;
  const ViewReads &reads_;
  TileEmitter &emitter_;
  core::DotOp op_;
  mlir::Type source_, element_; ///< of the operands, and of the accumulator
  int64_t m_, n_, depth_, lanes_;
  mlir::Value right_; ///< rows of rhs, where it is multiplied by rows
  bool isDirect_;     ///< rhs is read where it lies, once for all rows of lhs
  LaneProducts products_;
  bool isHeld_; ///< registers hold the rows of lhs, where it is multiplied by rows
  RegisterBlock block_;
  mlir::Value rows_;   ///< lhs, of source type in pairs: memref<rows x depth>
  mlir::Value panel_;  ///< a panel of rhs: memref<depth x columns>, of rows memref<columns x depth>
  mlir::Value blocks_; ///< of rows of lhs that hold something but zero
  mlir::Value knownDepth_; ///< k up to which both operands do
  At batch_;
};

} // namespace ditron::cpu
