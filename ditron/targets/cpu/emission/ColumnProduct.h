// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by columns of rhs. With panels, after the panel-and-register blocking of Goto and van de Geijn
// ("Anatomy of High-Performance Matrix Multiplication", 2008): rhs is packed into panels as wide as
// the micro-kernel, so that one panel stays in the first-level cache while all of lhs, rows one after
// another in the second-level cache, passes by; the micro-kernel keeps rows x columns of the result
// in vector registers over the whole depth.
//
//   for each panel of `columns` of rhs:       packed[depth][columns]
//     for each `rows` rows of lhs:            rows[rows][depth]
//       registers = acc; for k: registers += rows[:, k] x packed[k, :]; result = registers
//
// Where the registers hold columns for all rows of lhs, each element of rhs is used once: it is read
// where it lies, with no panel.
#pragma once
#include "ditron/targets/cpu/emission/DotProduct.h"

namespace ditron::cpu {

/// Whether registers hold columns for all rows of lhs.
bool isDirect(const ProductShape &shape);

class ColumnProduct : public DotProduct {
protected:
  using DotProduct::DotProduct;
  /// Visits vectors of columns that are multiplied at a time; the last ones may be shorter.
  void forEachColumns(
      const std::function<void(mlir::Value column, llvm::ArrayRef<int64_t> widths)> &visit);
};

/// rhs in panels.
class PanelProduct : public ColumnProduct {
public:
  PanelProduct(const DotContext &context, core::DotOp op);

private:
  void allocate() override;
  void multiply(mlir::Value out) override;
  void multiplyPanel(mlir::Value out, mlir::Value column, llvm::ArrayRef<int64_t> widths);
  void packPanel(mlir::Value column, llvm::ArrayRef<int64_t> widths);

  mlir::Value panel_; ///< of rhs: memref<depth x columns>
};

/// rhs where it lies.
class DirectProduct : public ColumnProduct {
public:
  DirectProduct(const DotContext &context, core::DotOp op);

private:
  void allocate() override {}
  void multiply(mlir::Value out) override;
  int64_t rowsInCache() const;
  int64_t rowsOfPart() const;
  bool isFollowed() const;
  void multiplyPart(mlir::Value out, mlir::Value first, mlir::Value limit, Coverage coverage);
  /// Of a part of the rows of rhs, those from `first` on: a walk over some columns is at row k.
  struct Step {
    mlir::Value first, column, k;
  };
  void prefetchPart(const Access &ahead, const Step &step);
  mlir::Value emitColumns(mlir::Value k, mlir::Value column, int64_t n,
                          llvm::ArrayRef<int64_t> widths, Coverage coverage);
};

} // namespace ditron::cpu
