// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/targets/cpu/emission/LaneSums.h"
#include <vector>

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
  /// Terms of whole steps, each of several vectors.
  struct Steps {
    mlir::Value first, end;
    int64_t step;
  };
  /// The terms behind all steps.
  struct Rest {
    int64_t first, end;
  };
  /// A vector of sums for each pair of rows, columns outside.
  using Sums = llvm::SmallVector<mlir::Value>;

  Sums zeros(const Block &block);
  /// The sums and those of these steps.
  Sums add(const Block &block, const Steps &steps, mlir::Value left, const Right &right,
           mlir::ValueRange sums);
  /// result[row.., column..] += what the sums and those of the rest add up to.
  void finish(const Block &block, const Rest &rest, mlir::Value left, const Right &right,
              mlir::ValueRange sums, mlir::Value result);

  /// Rows of the left side in registers: the vectors of each.
  using Held = llvm::SmallVector<llvm::SmallVector<mlir::Value>>;
  Held hold(mlir::Value left, mlir::Value row, int64_t rows, int64_t terms);
  /// The same with all vectors of the rows of the left side: rows of the right side are read one after
  /// the other. The order of each sum is that of one vector of sums for a pair.
  void emit(const Block &block, const Held &left, const Right &right, mlir::Value result);

private:
  /// Factors that a vector of sums takes at a time.
  int64_t width() const { return lanes_ * products_.factors(); }
  /// Rows of the left side, from `first` of the block on, whose sums are added across lanes together.
  struct Together {
    int64_t first, rows;
    LaneSums sums;
  };
  Sums step(const Block &block, mlir::Value left, const Right &right, mlir::Value k, int64_t lanes,
            int64_t which, mlir::ValueRange carried);
  std::vector<Together> partsOf(const Block &block);
  static void addColumn(llvm::MutableArrayRef<Together> parts, const Block &block, int64_t j,
                        mlir::ValueRange sums);
  void store(const Block &block, Together &part, mlir::Value result);
  int64_t rowsTogether(int64_t rows, int64_t columns) const;
  Sums addRest(const Block &block, const Rest &rest, mlir::Value left, const Right &right,
               Sums sums);

  VectorBuilder &v_;
  LaneProducts products_;
  int64_t lanes_;
};

} // namespace ditron::cpu
