// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/targets/cpu/emission/LaneProducts.h"

namespace ditron::cpu {

/// The inner loop of a product of rows by rows: of each pair a vector of sums runs along them, and
/// its lanes are added at the end. Rows of the right side are read where they lie.
class RowKernel {
public:
  /// A vector of a row of the right side: its number, the first element, the lanes of its sums, and
  /// which of a step it is.
  using Right =
      std::function<mlir::Value(mlir::Value row, mlir::Value k, int64_t lanes, int64_t which)>;

  /// `lanes`: of a vector of sums.
  RowKernel(VectorBuilder &v, const LaneProducts &products, int64_t lanes)
      : v_(v), products_(products), lanes_(lanes) {}

  /// Which rows, and how many of each side.
  struct Block {
    mlir::Value row, column;
    int64_t rows, columns; ///< columns: a power of two
  };
  /// Terms of whole steps, each of several vectors with sums of their own, up to `end`, and what there
  /// is from `rest` to `all`.
  struct Terms {
    mlir::Value end;
    int64_t step, rest, all;
  };
  /// result[row.., column..] += left[row.., 0..] x right[column.., 0..].
  void emit(const Block &block, const Terms &terms, mlir::Value left, const Right &right,
            mlir::Value result);

private:
  llvm::SmallVector<mlir::Value> step(const Block &block, mlir::Value left, const Right &right,
                                      mlir::Value k, int64_t lanes, int64_t which,
                                      mlir::ValueRange carried);
  mlir::Value acrossLanes(mlir::ValueRange vectors);
  int64_t rowsTogether(int64_t rows, int64_t columns) const;
  llvm::SmallVector<mlir::Value> sumsOf(const Block &block, const Terms &terms, mlir::Value left,
                                        const Right &right);

  VectorBuilder &v_;
  LaneProducts products_;
  int64_t lanes_;
};

} // namespace ditron::cpu
