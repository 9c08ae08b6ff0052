// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that a launch computes of its arguments, from the ops that compute them in the kernel: as
// the text of abi/Extent.h.
#pragma once
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include <string>

namespace ditron::lower {

class ExtentText {
public:
  /// Names of more values: loop variables. The rank is known too then.
  using Names = llvm::DenseMap<mlir::Value, std::string>;
  explicit ExtentText(const Names *names = nullptr) : names_(names) {}

  /// Appends the text of a value. Failure where it is more than arithmetic of extents of arguments,
  /// integer arguments and the number of ranks: culprit() is then what computes it.
  mlir::LogicalResult add(mlir::Value value);

  /// The same of a number that may be known already.
  mlir::LogicalResult addFolded(mlir::OpFoldResult value);

  const std::string &text() const { return text_; }
  mlir::Operation *culprit() const { return culprit_; }

private:
  mlir::LogicalResult word(const llvm::Twine &next);
  mlir::LogicalResult addOperation(mlir::Operation *op);
  mlir::LogicalResult addCast(mlir::Operation *cast);
  /// Extent n of a view: an argument, or what was cut of one.
  mlir::LogicalResult addExtent(mlir::Value view, int64_t n, mlir::Operation *user);
  mlir::LogicalResult refuse(mlir::Operation *op);

  const Names *names_;
  std::string text_;
  mlir::Operation *culprit_ = nullptr;
};

} // namespace ditron::lower
