// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/warpspec/Producer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Iterators.h"

using namespace mlir;

namespace ditron::nvidia {

void Producer::project(llvm::iterator_range<Block::iterator> ops) {
  OpBuilder::InsertionGuard guard(b_);
  for (Operation &op : ops) {
    if (guards(op) && isKnown(op) && carriesNothing()) {
      enterUnless(mapped(cast<scf::IfOp>(op).getCondition()));
      continue;
    }
    project(op);
    follow(op);
  }
}

/// Whether no loop that is being written passes on what is computed in the rest of its body.
bool Producer::carriesNothing() {
  auto loop = dyn_cast<scf::ForOp>(b_.getInsertionBlock()->getParentOp());
  return !loop || loop.getNumResults() == 0;
}

void Producer::enterUnless(Value condition) {
  Location loc = condition.getLoc();
  Value otherwise = b_.create<arith::XOrIOp>(
      loc, condition, b_.create<arith::ConstantIntOp>(loc, 1, condition.getType()));
  auto branch = b_.create<scf::IfOp>(loc, otherwise, /*withElseRegion=*/false);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
}

void Producer::project(Operation &op) {
  if (repeats(op))
    return;
  if (Projection::isScalar(&op) && isKnown(op)) {
    if (!op.hasTrait<OpTrait::IsTerminator>())
      b_.clone(op, mapping_);
  } else if (auto loop = dyn_cast<scf::ForOp>(op); loop && leads(op)) {
    projectLoop(loop);
  } else if (auto branch = dyn_cast<scf::IfOp>(op); branch && leads(op)) {
    projectBranch(branch);
  } else {
    inside_.insert(op.getResults().begin(), op.getResults().end());
  }
}

/// Whether what an op takes from outside of it is there.
bool Producer::isKnown(Operation &op) {
  WalkResult result = op.walk([&](Operation *inner) {
    bool isThere = llvm::all_of(inner->getOperands(), [&](Value v) {
      return mapping_.contains(v) || !inside_.contains(v);
    });
    return isThere ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

void Producer::projectLoop(scf::ForOp loop) {
  SmallVector<BlockArgument> carried;
  SmallVector<Value> inits, yielded;
  for (BlockArgument argument : loop.getRegionIterArgs())
    if (projection_.computes(argument)) {
      carried.push_back(argument);
      inits.push_back(mapped(loop.getTiedLoopInit(argument)->get()));
    } else {
      inside_.insert(argument);
    }
  inside_.insert(loop.getResults().begin(), loop.getResults().end());
  auto copy = b_.create<scf::ForOp>(loop.getLoc(), mapped(loop.getLowerBound()),
                                    mapped(loop.getUpperBound()), mapped(loop.getStep()), inits,
                                    [](OpBuilder &, Location, Value, ValueRange) {});
  mapping_.map(loop.getInductionVar(), copy.getInductionVar());
  for (auto [argument, copied] : llvm::zip(carried, copy.getRegionIterArgs()))
    mapping_.map(argument, copied);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(copy.getBody());
  project(llvm::make_range(loop.getBody()->begin(), loop.getBody()->end()));
  for (BlockArgument argument : carried)
    yielded.push_back(mapped(loop.getTiedLoopYieldedValue(argument)->get()));
  b_.create<scf::YieldOp>(loop.getLoc(), yielded);
}

void Producer::projectBranch(scf::IfOp branch) {
  inside_.insert(branch.getResults().begin(), branch.getResults().end());
  auto copy = b_.create<scf::IfOp>(branch.getLoc(), mapped(branch.getCondition()),
                                   /*withElseRegion=*/branch.elseBlock() != nullptr);
  copy->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
  for (auto [from, to] :
       {std::pair(branch.thenBlock(), copy.thenBlock()), {branch.elseBlock(), copy.elseBlock()}})
    if (from) {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPoint(to->getTerminator());
      project(llvm::make_range(from->begin(), from->end()));
    }
}

void eraseDead(Block &block) {
  block.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

} // namespace ditron::nvidia
