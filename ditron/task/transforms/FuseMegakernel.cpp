// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FuseMegakernel: a graph becomes one persistent kernel, a function of `tile` and `dist`.
//
//     func.func @up(...) attributes {tile.kernel} ...
//     task.graph @mlp { ... task.node "layer 0 up" @up(%x) ... }
//  ->
//     func.func @mlp(%x, ..., %queue, %tasks, %waits, ...) attributes {tile.kernel} { ... }
//
// Kernels that no graph names stay. task/Fuse.h says what the function does; the tables that it takes
// are those of a schedule (task/Plan.h). test/task/fuse.mlir shows the result.
//
#include "ditron/support/Error.h"
#include "ditron/task/Fuse.h"
#include "ditron/task/GraphModule.h"
#include "ditron/task/KernelFunction.h"
#include "ditron/task/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSet.h"

namespace ditron::task {
#define GEN_PASS_DEF_FUSEMEGAKERNEL
#include "ditron/task/transforms/Passes.h.inc"
} // namespace ditron::task

using namespace mlir;
using namespace ditron;
using namespace ditron::task;

namespace {

void fuse(GraphOp op) {
  auto module = op->getParentOfType<ModuleOp>();
  TaskGraph graph = GraphReader(op).read();
  const std::vector<Kernel> &types = requireTasks(graph.graph()).types;
  FusedKernel fused(graph.graph(), {types.begin(), types.end()});
  op.erase();
  addFunction(fused.kernel(), module);
}

/// The functions that graphs name.
llvm::StringSet<> kernelsOf(ModuleOp module) {
  llvm::StringSet<> names;
  module.walk([&](NodeOp node) { names.insert(node.getKernel()); });
  return names;
}

struct FuseMegakernel : task::impl::FuseMegakernelBase<FuseMegakernel> {
  void runOnOperation() final {
    ModuleOp module = getOperation();
    llvm::StringSet<> kernels = kernelsOf(module);
    SmallVector<func::FuncOp> named;
    for (auto function : module.getOps<func::FuncOp>())
      if (kernels.contains(function.getName()))
        named.push_back(function);
    for (GraphOp graph : llvm::make_early_inc_range(module.getOps<GraphOp>()))
      try {
        fuse(graph);
      } catch (const Error &error) {
        graph.emitError(error.what());
        return signalPassFailure();
      }
    for (func::FuncOp function : named)
      function.erase();
  }
};

} // namespace
