// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the producer of a warp-specialised kernel does: the control flow around what it loads, and
// what that is computed from.
#pragma once
#include "ditron/targets/nvidia/analysis/Projection.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace ditron::nvidia {

/// Writes the producer at the builder's place. What it loads, a derived class says.
class Producer {
public:
  explicit Producer(mlir::OpBuilder b) : b_(b) {}
  virtual ~Producer() = default;

  void project(llvm::iterator_range<mlir::Block::iterator> ops);

protected:
  using Value = mlir::Value;
  Value mapped(Value value) { return mapping_.lookupOrDefault(value); }
  llvm::SmallVector<Value> mapped(mlir::ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return mapped(value); });
  }

  mlir::OpBuilder b_;
  mlir::IRMapping mapping_;

private:
  /// Whether a loop or branch has something for the producer to do in it.
  virtual bool leads(mlir::Operation &op) = 0;
  /// Whether the producer does an op that has effects too; writes it, then.
  virtual bool repeats(mlir::Operation &op) { return false; }
  /// Whether the rest of a block is only for the producer where an op, which ends the kernel, does not.
  virtual bool guards(mlir::Operation &op) { return false; }
  /// Writes what the producer does behind an op.
  virtual void follow(mlir::Operation &op) = 0;

  void project(mlir::Operation &op);
  bool carriesNothing();
  void enterUnless(Value condition);
  void projectLoop(mlir::scf::ForOp loop);
  void projectBranch(mlir::scf::IfOp branch);
  bool isKnown(mlir::Operation &op);

  Projection projection_;
  /// What is computed where only the other role goes.
  llvm::DenseSet<Value> inside_;
};

/// Erases what is computed in a block and nobody needs, users first.
void eraseDead(mlir::Block &block);

} // namespace ditron::nvidia
