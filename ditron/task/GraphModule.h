// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs in the IR, and back: what a TaskGraph has recorded as `task.graph` beside the functions of its
// kernels, and a `task.graph` as a TaskGraph. Both ways lose nothing but what constants hold.
#pragma once
#include "ditron/task/TaskGraph.h"
#include "ditron/task/TaskOps.h"

namespace ditron::task {

/// A context with the dialects of graphs.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// The graph, behind the functions of its kernels.
mlir::OwningOpRef<mlir::ModuleOp> moduleOf(const Graph &graph, mlir::MLIRContext &context);

/// Reads a task.graph, op by op, by the calls that a program would make: what they refuse is wrong in
/// the IR too. CompileError without a place; `current` is the op that it is about.
class GraphReader {
public:
  explicit GraphReader(GraphOp graph);
  /// The graph, its kernels in contexts of their own.
  TaskGraph read();
  /// Reads it with kernels that have no IR, and infers shapes where extents are numbers.
  void check();
  mlir::Operation *current() const { return current_; }

private:
  TaskGraph readWith(llvm::function_ref<Kernel(mlir::func::FuncOp)> kernelOf);
  void add(TaskGraph &graph, mlir::Operation &op,
           llvm::function_ref<Kernel(mlir::func::FuncOp)> kernelOf);
  void addInput(TaskGraph &graph, InputOp op);
  void addConstant(TaskGraph &graph, ConstantOp op);
  void addNode(TaskGraph &graph, NodeOp op, size_t type);
  void addOutput(TaskGraph &graph, OutputOp op);
  size_t typeOf(TaskGraph &graph, NodeOp op,
                llvm::function_ref<Kernel(mlir::func::FuncOp)> kernelOf);
  void bind(mlir::Value tensor, ditron::Value value, const TaskGraph &graph);
  void inferShapes(const Graph &graph);

  GraphOp op_;
  mlir::Operation *current_;
  llvm::DenseMap<mlir::Value, ditron::Value> values_;
  llvm::StringMap<size_t> types_;
  std::vector<mlir::Operation *> nodes_; ///< in the order of the graph's
};

} // namespace ditron::task
