// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/targets/cpu/emission/LaneProducts.h"

namespace ditron::cpu {

/// The inner loops of one panel of a product; emitted once for each static width.
class MicroKernel {
public:
  /// The factors of `width` lanes: of row k of the right side, or of it and the next row, from
  /// column j of the panel on.
  using Right = std::function<mlir::Value(mlir::Value k, int64_t j, int64_t width)>;

  MicroKernel(VectorBuilder &v, const LaneProducts &products) : v_(v), products_(products) {}

  /// Some of the result: `height` rows from `row` on, and vectors of these widths from `column` on.
  struct Block {
    mlir::Value row, column;
    int64_t height;
    llvm::ArrayRef<int64_t> widths;
  };
  /// Terms from `first` to `end`.
  struct Terms {
    mlir::Value first, end;
  };
  /// result[row.., column..] += rows[row.., first..end] x right[first..end, ..].
  void emit(const Block &block, const Terms &terms, mlir::Value rows, const Right &right,
            mlir::Value result);

private:
  void forEach(const Block &block,
               const std::function<void(mlir::Value, mlir::Value, int64_t, size_t)> &visit);
  llvm::SmallVector<mlir::Value> step(const Block &block, mlir::Value rows, const Right &right,
                                      mlir::Value k, mlir::ValueRange carried);
  mlir::Value offset(mlir::Value base, int64_t by);

  VectorBuilder &v_;
  LaneProducts products_;
};

} // namespace ditron::cpu
