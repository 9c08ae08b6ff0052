// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// InferEdges: the edges of a graph become ops at its end.
//
//     %a, %h = task.node "up" @up(%x) : ...
//     %b, %y = task.node "down" @down(%h) : ...
//  ->
//     ...
//     task.edge %a to %b of %h read_after_write ["v0 8 mul : 8", "*"] to ["v0 16 mul : 16", "*"] : ...
//
// Edges that are there already are found anew. test/task/edges.mlir shows the result.
//
#include "ditron/support/Error.h"
#include "ditron/task/Edges.h"
#include "ditron/task/GraphModule.h"
#include "ditron/task/transforms/Passes.h"

namespace ditron::task {
#define GEN_PASS_DEF_INFEREDGES
#include "ditron/task/transforms/Passes.h.inc"
} // namespace ditron::task

using namespace mlir;
using namespace ditron;
using namespace ditron::task;

namespace {

/// The tensors of a graph's values, and its nodes, as GraphReader numbers them.
struct Numbered {
  std::vector<mlir::Value> tensors;
  std::vector<NodeOp> nodes;

  explicit Numbered(GraphOp graph) {
    for (Operation &op : graph.getBody().front()) {
      if (auto node = dyn_cast<NodeOp>(op)) {
        nodes.push_back(node);
        tensors.insert(tensors.end(), node.getMade().begin(), node.getMade().end());
      } else if (isa<InputOp, ConstantOp>(op)) {
        tensors.push_back(op.getResult(0));
      }
    }
  }
};

EdgeKind kindOf(Follows why) {
  return why == Follows::readAfterWrite    ? EdgeKind::readAfterWrite
         : why == Follows::writeAfterWrite ? EdgeKind::writeAfterWrite
                                           : EdgeKind::writeAfterRead;
}

ArrayAttr boxOf(OpBuilder &b, const TileBox &box) {
  std::vector<std::string> texts = textsOf(box);
  return b.getStrArrayAttr(SmallVector<StringRef>(texts.begin(), texts.end()));
}

void addEdges(GraphOp op) {
  for (EdgeOp edge : llvm::make_early_inc_range(op.getBody().front().getOps<EdgeOp>()))
    edge.erase();
  TaskGraph graph = GraphReader(op).read();
  const std::vector<Kernel> &types = graph.graph().types;
  Numbered numbered(op);
  OpBuilder b = OpBuilder::atBlockEnd(&op.getBody().front());
  for (const Edge &edge : edgesOf(graph.graph(), {types.begin(), types.end()}))
    b.create<EdgeOp>(numbered.nodes[edge.to].getLoc(), numbered.nodes[edge.from].getNode(),
                     numbered.nodes[edge.to].getNode(), numbered.tensors[edge.value],
                     kindOf(edge.why), boxOf(b, edge.fromBox), boxOf(b, edge.toBox));
}

struct InferEdges : task::impl::InferEdgesBase<InferEdges> {
  void runOnOperation() final {
    for (GraphOp graph : getOperation().getOps<GraphOp>())
      try {
        addEdges(graph);
      } catch (const Error &error) {
        graph.emitError(error.what());
        return signalPassFailure();
      }
  }
};

} // namespace
