// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/targets/cpu/VectorBuilder.h"

namespace ditron::cpu {

/// The inner loops of one panel of a product; emitted once for each static width.
class MicroKernel {
public:
  /// `width` elements of row k of the right side, from column j of the panel on.
  using Right = std::function<mlir::Value(mlir::Value k, int64_t j, int64_t width)>;

  /// `element`: of the accumulator.
  MicroKernel(VectorBuilder &v, mlir::Type element) : v_(v), element_(element) {}

  /// result[row.., column..] += rows[row.., 0..depth] x right[0..depth, ..], in `height` rows and
  /// vectors of these widths.
  void emit(mlir::Value rows, const Right &right, mlir::Value result, mlir::Value row,
            mlir::Value column, mlir::Value depth, int64_t height, llvm::ArrayRef<int64_t> widths);

private:
  mlir::VectorType vectorOf(int64_t width) const {
    return mlir::VectorType::get({width}, element_);
  }
  void forEach(mlir::Value row, mlir::Value column, int64_t height, llvm::ArrayRef<int64_t> widths,
               const std::function<void(mlir::Value, mlir::Value, int64_t, size_t)> &visit);
  llvm::SmallVector<mlir::Value> step(mlir::Value rows, const Right &right, mlir::Value row,
                                      mlir::Value k, int64_t height, llvm::ArrayRef<int64_t> widths,
                                      mlir::ValueRange carried);
  mlir::Value multiplyAdd(mlir::Value x, mlir::Value y, mlir::Value acc);
  mlir::Value offset(mlir::Value base, int64_t by);

  VectorBuilder &v_;
  mlir::Type element_;
};

} // namespace ditron::cpu
