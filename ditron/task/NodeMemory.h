// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The symmetric memory, signals and inboxes of a kernel that stands for several nodes: each node has its
// own part, by a new first dimension, as counters only grow and buffers are written by other ranks.
//
//   %slots = dist.symmetric "slots"(%m) : memref<?xf32, ..., symmetric>      in the kernel of a type
//   dist.wait %ready[%i] >= %n : !dist.signals<1>
// becomes
//   %all = dist.symmetric "all-reduce.slots"(%nodes, %most) : memref<?x?xf32, ...>    at the top
//   %slots = memref.subview %all[%node, 0] [1, %m] [1, 1]                    where the node's body is
//   dist.wait %ready[%node, %i] >= %n : !dist.signals<2>
//
// The extents are the largest of any node.
#pragma once
#include "ditron/device/DistOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ditron::task {

class NodeMemory {
public:
  /// Takes the kernel of a type; messages call what it declares `name`.
  NodeMemory(mlir::func::FuncOp type, std::string name);

  bool isEmpty() const { return requests_.empty(); }
  /// Whether the kernel says nothing to others but by inboxes.
  bool isOfInboxes() const;
  /// Declares the memory of all nodes at the top of a kernel; `nodes` are what each passes for the
  /// type's arguments, null where that is a number.
  void declare(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<llvm::SmallVector<mlir::Value>> nodes);
  /// Whether the op declares memory; if so the mapping gets the part of `node`.
  bool enter(mlir::ImplicitLocOpBuilder &b, mlir::Operation &op, mlir::Value node,
             mlir::IRMapping &mapping) const;
  /// Has the verbs of a cloned body address the signals and the inboxes of `node`.
  void address(mlir::Operation *body, mlir::Value node) const;

private:
  mlir::Value largest(mlir::ImplicitLocOpBuilder &b, mlir::Value extent,
                      llvm::ArrayRef<llvm::SmallVector<mlir::Value>> nodes) const;

  mlir::func::FuncOp type_;
  std::string name_;
  llvm::SmallVector<mlir::Operation *> requests_;
  llvm::DenseMap<mlir::Operation *, mlir::Value> all_; ///< the memory of all nodes
};

} // namespace ditron::task
