// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of rows by rows (rhs is transposed where it is read), which need no packing of rhs: sums of
// pairs of rows run along them, and each row of rhs is read on end, once where lhs has few rows.
//
//   for each `columns` rows of rhs, for each `rows` rows of lhs:
//     registers = 0; for k, a vector at a time: registers += rows[:, k] * rhs[:, k]
//     result += the sums of the lanes of each
//
// Where the rows of lhs are several blocks, those of rhs are multiplied in pieces, which stay in the
// first-level cache; the registers of each block are in memory between one piece and the next.
//
// Where registers hold all vectors of the rows of lhs, rows of rhs are read one after the other, as
// they lie:
//
//   for each row of rhs: registers = 0; for k, for each row of lhs: registers += lhs[:, k] * rhs[:, k]
//     result += the sums of the lanes of each
//
// In all three the terms of a sum are added in the same order.
#pragma once
#include "ditron/targets/cpu/emission/DotProduct.h"
#include "ditron/targets/cpu/emission/RowKernel.h"

namespace ditron::cpu {

/// The rows that a dot multiplies by rows of lhs: the source of a transpose, its only reader; null
/// where rhs is none, its rows are shorter than a vector, or lhs has many.
mlir::Value rowsOfRight(core::DotOp op, int64_t lanes);

class RowProduct : public DotProduct {
public:
  /// `right`: the rows of rhs.
  RowProduct(const DotContext &context, core::DotOp op, mlir::Value right);

private:
  /// Rows of rhs, from `first` on, and how many rows further on those are that are brought nearer (0: none).
  struct Columns {
    mlir::Value first;
    int64_t count;
    Coverage coverage;
    int64_t ahead;

    Columns whichAreNear() const { return {first, count, coverage, 0}; }
  };
  /// Whole steps of terms from `first` to `end`, and so many behind them.
  struct Terms {
    mlir::Value first, end;
    int64_t rest;
  };
  /// Lanes of a row of rhs, from k on: which vector of a step.
  struct Part {
    mlir::Value row, k;
    int64_t lanes, which;
  };
  using VisitRight = std::function<void(const Columns &columns)>;
  using VisitBlock =
      std::function<void(const RowKernel::Block &block, const RowKernel::Right &right)>;

  void allocate() override;
  void multiply(mlir::Value out) override;
  int64_t rowPitch() const override;
  bool isShort() const;
  bool isReadAsItIs() const;
  RowReads reads() const;
  int64_t bytesOfFactor() const;
  int64_t rowsAhead() const;
  void forEachRight(const VisitRight &visit);
  void forEachBlock(const Columns &columns, mlir::Value first, const VisitBlock &visit);
  void multiplyByHeldRows(mlir::Value out);
  void multiplyRows(mlir::Value out, const Columns &columns);

  bool takesPieces() const;
  int64_t termsOfStep() const;
  int64_t termsOfSteps() const;
  int64_t termsOfPiece() const;
  mlir::Value endOfSteps(Coverage coverage);
  void multiplyPieces(mlir::Value out, const Columns &columns);
  llvm::SmallVector<At> placesOfSums(const RowKernel::Block &block);
  void storeSums(const RowKernel::Block &block, const RowKernel::Sums &sums);
  RowKernel::Sums loadSums(const RowKernel::Block &block);

  mlir::Value emitRight(const Columns &columns, const Part &part);
  RowKernel::Right rightOf(const Columns &columns, mlir::Value first);
  void packRight(const Columns &columns, const Terms &terms);

  bool isHeld_;       ///< registers hold the rows of lhs
  mlir::Value panel_; ///< rows of rhs in the compute type: memref<columns x terms>
  mlir::Value sums_;  ///< of blocks between pieces: memref<vectors x lanes>
};

} // namespace ditron::cpu
