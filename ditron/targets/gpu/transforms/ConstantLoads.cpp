// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/gpu/transforms/ConstantLoads.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace ditron::gpu {
namespace {

/// Copies ops, and counts the bytes that the copies ask for; 0 where they are not copied.
class Asking {
public:
  Asking(const ConstantLoads &rules, OpBuilder b, Operation *wait)
      : rules_(rules), b_(b), wait_(wait) {}

  int64_t copy(Operation &op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return copyLoop(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return copyBranch(branch);
    if (auto load = dyn_cast<core::LoadOp>(op))
      return ask(load);
    if (isNumber(op) && areKnown(op.getOperands()))
      copyNumber(op);
    return 0;
  }

private:
  /// Whether a value is known before the wait, there or as a copy.
  bool isKnown(Value value) const {
    if (copies_.contains(value))
      return true;
    Block *block = value.getParentBlock();
    Operation *op = value.getDefiningOp();
    if (block == wait_->getBlock())
      return !op || op->isBeforeInBlock(wait_);
    return block->getParentOp()->isProperAncestor(wait_);
  }
  bool areKnown(ValueRange values) const {
    return llvm::all_of(values, [this](Value value) { return isKnown(value); });
  }
  Value known(Value value) const { return copies_.lookupOrDefault(value); }

  /// What is read has no requirement in front of it here: nothing where the place does not exist.
  void copyNumber(Operation &op) {
    auto load = dyn_cast<memref::LoadOp>(op);
    if (!load || load->hasAttr(core::kWithinAttr)) {
      b_.clone(op, copies_);
      return;
    }
    ImplicitLocOpBuilder b(op.getLoc(), b_);
    Value exists = b.create<arith::ConstantIntOp>(1, 1);
    for (auto [n, index] : llvm::enumerate(load.getIndices())) {
      Value size = b.create<memref::DimOp>(known(load.getMemRef()), static_cast<int64_t>(n));
      Value isInside = b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, known(index), size);
      exists = b.create<arith::AndIOp>(exists, isInside);
    }
    auto branch = b.create<scf::IfOp>(op.getResultTypes(), exists, /*withElseRegion=*/true);
    OpBuilder reads = branch.getThenBodyBuilder(), instead = branch.getElseBodyBuilder();
    reads.create<scf::YieldOp>(op.getLoc(), reads.clone(op, copies_)->getResults());
    Attribute none = b.getZeroAttr(op.getResult(0).getType());
    Value zero = instead.create<arith::ConstantOp>(op.getLoc(), cast<TypedAttr>(none));
    instead.create<scf::YieldOp>(op.getLoc(), zero);
    copies_.map(op.getResults(), branch.getResults());
  }

  int64_t copyBlock(Block &from, Block *into) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(into);
    int64_t bytes = 0;
    for (Operation &op : from.without_terminator())
      bytes += copy(op);
    return bytes;
  }

  int64_t copyLoop(scf::ForOp loop) {
    if (!areKnown({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}))
      return 0;
    SmallVector<BlockArgument> carried;
    for (BlockArgument argument : loop.getRegionIterArgs())
      if (!isTile(argument) && isKnown(loop.getTiedLoopInit(argument)->get()))
        carried.push_back(argument);
    return copyLoop(loop, carried);
  }

  /// Numbers go from iteration to iteration, as far as they are found.
  int64_t copyLoop(scf::ForOp loop, SmallVector<BlockArgument> &carried) {
    IRMapping before = copies_;
    auto inits = llvm::map_to_vector(carried, [&](BlockArgument argument) {
      return known(loop.getTiedLoopInit(argument)->get());
    });
    auto copied = b_.create<scf::ForOp>(loop.getLoc(), known(loop.getLowerBound()),
                                        known(loop.getUpperBound()), known(loop.getStep()), inits);
    copies_.map(loop.getInductionVar(), copied.getInductionVar());
    for (auto [argument, copy] : llvm::zip(carried, copied.getRegionIterArgs()))
      copies_.map(argument, copy);
    int64_t bytes = copyBlock(*loop.getBody(), copied.getBody());
    auto nextOf = [&](BlockArgument argument) {
      return loop.getTiedLoopYieldedValue(argument)->get();
    };
    size_t count = carried.size();
    llvm::erase_if(carried, [&](BlockArgument one) { return !isKnown(nextOf(one)); });
    if (!bytes || carried.size() < count)
      copied.erase();
    if (!bytes)
      return 0;
    if (carried.size() < count) {
      copies_ = before;
      return copyLoop(loop, carried);
    }
    if (!carried.empty())
      OpBuilder::atBlockEnd(copied.getBody())
          .create<scf::YieldOp>(loop.getLoc(), llvm::map_to_vector(carried, [&](BlockArgument one) {
                                  return known(nextOf(one));
                                }));
    return rules_.mostBytes ? shorten(copied, bytes) : bytes;
  }

  /// Ends a loop when it has asked for enough, `bytes` an iteration; the bytes that it asks for.
  int64_t shorten(scf::ForOp loop, int64_t bytes) {
    OpBuilder b(loop);
    Location loc = loop.getLoc();
    int64_t most = std::max<int64_t>(1, *rules_.mostBytes / bytes);
    Value count = b.create<arith::ConstantIndexOp>(loc, most);
    Value distance = b.createOrFold<arith::MulIOp>(loc, loop.getStep(), count);
    Value end = b.createOrFold<arith::AddIOp>(loc, loop.getLowerBound(), distance);
    loop.setUpperBound(b.createOrFold<arith::MinSIOp>(loc, loop.getUpperBound(), end));
    return most * bytes;
  }

  int64_t copyBranch(scf::IfOp branch) {
    if (!isKnown(branch.getCondition()))
      return 0;
    bool hasElse = branch.elseBlock() != nullptr;
    auto copied = b_.create<scf::IfOp>(branch.getLoc(), known(branch.getCondition()), hasElse);
    int64_t bytes = copyBlock(*branch.thenBlock(), copied.thenBlock());
    if (hasElse)
      bytes = std::max(bytes, copyBlock(*branch.elseBlock(), copied.elseBlock()));
    if (!bytes)
      copied.erase();
    return bytes;
  }

  int64_t ask(core::LoadOp load) {
    if (!rules_.isConstant(load.getView()) || !isKnown(load.getView()) ||
        !areKnown(load.getCoords()))
      return 0;
    SmallVector<Value> coords;
    for (Value coord : load.getCoords())
      coords.push_back(known(coord));
    RankedTensorType tile = tileOf(load.getTile());
    auto plain = RankedTensorType::get(tile.getShape(), tile.getElementType());
    b_.create<PrefetchOp>(load.getLoc(), known(load.getView()), coords, TypeAttr::get(plain));
    return tile.getNumElements() * core::elementBytes(tile.getElementType());
  }

  /// Whether an op computes numbers or views, or reads a number.
  bool isNumber(Operation &op) const {
    auto isOfTile = [](Value value) { return isTile(value); };
    bool hasTiles =
        llvm::any_of(op.getOperands(), isOfTile) || llvm::any_of(op.getResults(), isOfTile);
    if (hasTiles || op.getNumRegions() > 0 || op.getNumResults() == 0)
      return false;
    auto load = dyn_cast<memref::LoadOp>(op);
    return load ? rules_.isReadable && rules_.isReadable(load.getMemRef())
                : isMemoryEffectFree(&op);
  }

  const ConstantLoads &rules_;
  OpBuilder b_;
  Operation *wait_;
  IRMapping copies_;
};

} // namespace

bool ConstantLoads::ask(OpBuilder b, Operation *wait) const {
  Asking asking(*this, b, wait);
  int64_t bytes = 0;
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode())
    bytes += asking.copy(*op);
  return bytes > 0;
}

} // namespace ditron::gpu
