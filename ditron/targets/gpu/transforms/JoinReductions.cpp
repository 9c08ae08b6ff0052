// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-join-reductions: reductions across warps that stand near one another become one op.
//
//   %s = tile.reduce sum %x axis 1 : tensor<8x512xf32> -> tensor<8x1xf32>
//   %t = tile.reduce sum %y axis 1 : tensor<8x512xf32> -> tensor<8x1xf32>
// becomes
//   %s, %t = simt.reduce_together %x, %y kinds ["sum", "sum"] axes [1, 1] : ...
//
// Warps combine what they hold through shared memory, between two barriers. In small tiles these
// take longer than the rest. Reductions are joined where the last of them is, if nothing in between
// reads what they give, loops or branches. What only gives a result another shape goes behind them.
// test/targets/gpu/join-reductions.mlir shows it.
#include "ditron/core/TileOps.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_JOINREDUCTIONS
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

/// The reductions of a block that are waiting for more of them.
class Group {
public:
  void add(core::ReduceOp op, int64_t bytes) {
    if (bytes_ + bytes > kMostBytes)
      join();
    members_.push_back(op);
    bytes_ += bytes;
  }
  bool isReadBy(Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return llvm::is_contained(members_, operand.getDefiningOp()) ||
             llvm::is_contained(shapes_, operand.getDefiningOp());
    });
  }
  /// One of its results, or of these, in another shape.
  void addShape(Operation *op) { shapes_.push_back(op); }
  void join() {
    if (members_.size() > 1)
      replace();
    members_.clear();
    shapes_.clear();
    bytes_ = 0;
  }

private:
  /// Of shared memory, for what the warps hold.
  static constexpr int64_t kMostBytes = 16 * 1024;

  void replace() {
    OpBuilder b(members_.back());
    SmallVector<mlir::Location> places;
    SmallVector<Value> sources;
    SmallVector<Type> types;
    SmallVector<StringRef> kinds;
    SmallVector<int64_t> axes;
    for (core::ReduceOp op : members_) {
      places.push_back(op.getLoc());
      sources.push_back(op.getSource());
      types.push_back(op.getResult().getType());
      kinds.push_back(core::stringifyReduceKind(op.getKind()));
      axes.push_back(static_cast<int64_t>(op.getAxis()));
    }
    auto together = b.create<ReduceTogetherOp>(b.getFusedLoc(places), types, sources,
                                               b.getStrArrayAttr(kinds), axes);
    for (auto [op, result] : llvm::zip(members_, together.getResults())) {
      op.getResult().replaceAllUsesWith(result);
      op.erase();
    }
    Operation *last = together;
    for (Operation *shape : shapes_) {
      shape->moveAfter(last);
      last = shape;
    }
  }

  SmallVector<core::ReduceOp> members_;
  SmallVector<Operation *> shapes_;
  int64_t bytes_ = 0;
};

void joinIn(Block &block) {
  Group group;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool isRead = group.isReadBy(&op);
    if (isRead && isa<core::ReshapeOp, core::TransposeOp>(op)) {
      group.addShape(&op);
      continue;
    }
    if (op.getNumRegions() > 0 || isRead)
      group.join();
    auto reduce = dyn_cast<core::ReduceOp>(op);
    if (int64_t bytes = reduce ? momentaryBytes(reduce) : 0; bytes > 0)
      group.add(reduce, bytes);
  }
  group.join();
}

class JoinReductions : public impl::JoinReductionsBase<JoinReductions> {
public:
  using JoinReductionsBase::JoinReductionsBase;

private:
  void runOnOperation() override {
    if (failed(requireLayouts(getOperation())))
      return signalPassFailure();
    getOperation().walk([](Block *block) { joinIn(*block); });
  }
};

} // namespace
} // namespace ditron::gpu
