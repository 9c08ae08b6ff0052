// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simt-receive-together: tiles that a loop receives one after the other are waited for together.
//
//   %r = scf.for %p = %c0 to %ranks step %c1 iter_args(%sum = %own) {
//     %slot = ... of %p
//     %t = simt.receive %slot ...
//     %s = arith.addf %sum, %t
//     scf.yield %s
//   }
// becomes
//   %r = scf.for %p = %c0 to %ranks step %c4 iter_args(%sum = %own) {
//     %slot:4 = ... of %p to %p + 3, where there are such ranks
//     %t:4 = simt.receive_all (%slot#0, ...) where (...) ...
//     %s0 = arith.addf %sum, %t#0
//     %s1 = scf.if (%p + 1 < %ranks) { arith.addf %s0, %t#1 } else { %s0 }
//     ...
//   }
//
// To look for a tile takes a trip to memory, also when it has been there for long. A rank that adds what R - 1 others
// have sent takes one such trip then, and not one for each. Only loops are taken that do nothing else but
// compute, and what a thread waits for is limited by its registers (analysis/Receives.h).
// test/targets/gpu/receive-together.mlir shows it.
#include "ditron/targets/gpu/analysis/Receives.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ditron::gpu {

#define GEN_PASS_DEF_RECEIVETOGETHER
#include "ditron/targets/gpu/transforms/Passes.h.inc"

namespace {

bool isOfTiles(Operation &op) {
  auto is = [](Value value) { return isTile(value); };
  return llvm::any_of(op.getOperands(), is) || llvm::any_of(op.getResults(), is);
}

/// A loop that receives tiles and computes with them.
class Receiving {
public:
  explicit Receiving(scf::ForOp loop) : loop_(loop), b_(loop.getLoc(), loop) {}

  bool find() {
    WalkResult result = loop_.getBody()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isExit(op)) {
        exits_.push_back(op);
        return WalkResult::skip();
      }
      if (auto receive = dyn_cast<ReceiveOp>(op)) {
        receives_.push_back(receive);
        return WalkResult::advance();
      }
      return isa<scf::IfOp>(op) || (op->getNumRegions() == 0 && isMemoryEffectFree(op))
                 ? WalkResult::advance()
                 : WalkResult::interrupt();
    });
    if (result.wasInterrupted() || receives_.empty())
      return false;
    Block *block = receives_.front()->getBlock();
    branch_ = dyn_cast<scf::IfOp>(block->getParentOp());
    bool isNear = block == loop_.getBody() || (branch_ && branch_->getBlock() == loop_.getBody());
    auto isHere = [&](ReceiveOp one) { return one->getBlock() == block && isKnownBefore(one); };
    auto isInFront = [&](Operation *op) {
      Operation *end = op->getBlock() == block ? receives_.back() : branch_;
      return end && end->getBlock() == op->getBlock() && op->isBeforeInBlock(end);
    };
    return isNear && llvm::all_of(receives_, isHere) && llvm::all_of(exits_, isInFront) &&
           chooseCount();
  }

  void build() {
    Value step = loop_.getStep(), wide = mul(step, index(count_));
    auto loop = b_.create<scf::ForOp>(loop_.getLowerBound(), loop_.getUpperBound(), wide,
                                      loop_.getInitArgs());
    b_.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> numbers, exist;
    for (int64_t n = 0; n < count_; ++n) {
      numbers.push_back(
          b_.createOrFold<arith::AddIOp>(loop.getInductionVar(), mul(step, index(n))));
      exist.push_back(b_.create<arith::CmpIOp>(arith::CmpIPredicate::slt, numbers.back(),
                                               loop_.getUpperBound()));
    }
    ReceiveAllOp all = receiveAll(numbers, exist);
    takeReceives();
    SmallVector<Value> carried(loop.getRegionIterArgs());
    for (size_t n = 0; n < numbers.size(); ++n)
      carried = compute(all, n, numbers[n], exist[n], carried);
    if (carried.empty())
      loop.getBody()->getTerminator()->erase(); // which the builder has made
    b_.setInsertionPointToEnd(loop.getBody());
    b_.create<scf::YieldOp>(carried);
    loop_.replaceAllUsesWith(loop.getResults());
    loop_.erase();
    for (Value tile : tiles_)
      tile.getDefiningOp()->erase();
  }

private:
  /// Whether a slot, and whether it is received, follow from the number of the iteration.
  bool isKnownBefore(ReceiveOp receive) {
    SmallVector<Value> wanted{receive.getSlot()};
    if (branch_)
      wanted.push_back(branch_.getCondition());
    llvm::SmallPtrSet<Value, 16> seen;
    while (!wanted.empty()) {
      Value value = wanted.pop_back_val();
      if (loop_.isDefinedOutsideOfLoop(value) || value == loop_.getInductionVar() ||
          !seen.insert(value).second)
        continue;
      Operation *op = value.getDefiningOp();
      if (!op || op->getNumRegions() > 0 || isOfTiles(*op))
        return false;
      wanted.append(op->operand_begin(), op->operand_end());
    }
    return true;
  }

  /// Iterations that wait together: as many as a thread has registers for, or as there are threads for.
  bool chooseCount() {
    constexpr int64_t kMost = 4, kPackets = 24;
    SmallVector<RankedTensorType> tiles;
    int64_t packets = 0;
    for (ReceiveOp receive : receives_) {
      tiles.push_back(tileOf(receive.getTile()));
      packets += packetsOfThread(tiles.back());
    }
    auto fits = [&](int64_t count) {
      SmallVector<RankedTensorType> all;
      for (int64_t n = 0; n < count; ++n)
        all.append(tiles);
      return areSpread(loop_, all) || count * packets <= kPackets;
    };
    for (count_ = kMost; count_ > 1 && !fits(count_); count_ /= 2)
      ;
    return count_ > 1;
  }

  Value index(int64_t value) { return b_.create<arith::ConstantIndexOp>(value); }
  Value mul(Value a, Value b) { return b_.createOrFold<arith::MulIOp>(a, b); }
  Value no() { return b_.create<arith::ConstantIntOp>(0, 1); }

  /// Waits for the tiles of all iterations.
  ReceiveAllOp receiveAll(ArrayRef<Value> numbers, ArrayRef<Value> exist) {
    SmallVector<Value> slots, wanted;
    SmallVector<int64_t> sites;
    SmallVector<Type> types;
    for (auto [number, exists] : llvm::zip_equal(numbers, exist)) {
      auto found = b_.create<scf::IfOp>(slotTypes(), exists, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(found.elseBlock());
      b_.create<scf::YieldOp>(nothing());
      b_.setInsertionPointToStart(found.thenBlock());
      b_.create<scf::YieldOp>(slotsOf(number));
      for (auto [n, receive] : llvm::enumerate(receives_)) {
        wanted.push_back(found.getResult(0));
        slots.push_back(found.getResult(static_cast<unsigned>(n + 1)));
        sites.push_back(static_cast<int64_t>(receive.getSite()));
        types.push_back(receive.getTile().getType());
      }
    }
    ReceiveOp first = receives_.front();
    return b_.create<ReceiveAllOp>(types, slots, wanted, first.getEpoch(),
                                   b_.getDenseI64ArrayAttr(sites), first.getLaunch());
  }

  /// Whether an iteration receives, and its slots.
  SmallVector<Type> slotTypes() {
    SmallVector<Type> types{b_.getI1Type()};
    types.append(receives_.size(), b_.getIndexType());
    return types;
  }
  SmallVector<Value> nothing() {
    SmallVector<Value> values{no()};
    values.append(receives_.size(), index(0));
    return values;
  }
  SmallVector<Value> slotsOf(Value number) {
    IRMapping mapping;
    mapping.map(loop_.getInductionVar(), number);
    if (!branch_)
      return slotsIn(*loop_.getBody(), mapping);
    cloneNumbers(*loop_.getBody(), branch_, mapping);
    bool isThen = receives_.front()->getBlock() == branch_.thenBlock();
    auto found = b_.create<scf::IfOp>(slotTypes(), mapping.lookupOrDefault(branch_.getCondition()),
                                      /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(isThen ? found.elseBlock() : found.thenBlock());
    b_.create<scf::YieldOp>(nothing());
    b_.setInsertionPointToStart(isThen ? found.thenBlock() : found.elseBlock());
    b_.create<scf::YieldOp>(slotsIn(*receives_.front()->getBlock(), mapping));
    return SmallVector<Value>(found.getResults());
  }
  /// Of receives in this block.
  SmallVector<Value> slotsIn(Block &block, IRMapping &mapping) {
    cloneNumbers(block, receives_.back(), mapping);
    SmallVector<Value> values{b_.create<arith::ConstantIntOp>(1, 1)};
    for (ReceiveOp receive : receives_)
      values.push_back(mapping.lookupOrDefault(receive.getSlot()));
    return values;
  }
  /// What the numbers in front of an op are computed from, and what they have to fulfil.
  void cloneNumbers(Block &block, Operation *end, IRMapping &mapping) {
    for (Operation &op : block) {
      if (&op == end)
        return;
      if (!isOfTiles(op) && (op.getNumRegions() == 0 || isExit(&op)))
        b_.clone(op, mapping);
    }
  }

  /// Leaves what the iterations compute in the old loop: of tiles that stand in for those received.
  void takeReceives() {
    OpBuilder b(loop_);
    for (ReceiveOp receive : receives_) {
      auto tile = b.create<UnrealizedConversionCastOp>(receive.getLoc(),
                                                       receive.getTile().getType(), ValueRange());
      tiles_.push_back(tile.getResult(0));
      receive.getTile().replaceAllUsesWith(tile.getResult(0));
      receive.erase();
    }
    for (Operation *op : exits_)
      op->erase();
  }

  /// Iteration `n`, whose tiles are there: what it carries on.
  SmallVector<Value> compute(ReceiveAllOp all, size_t n, Value number, Value exists,
                             const SmallVector<Value> &carried) {
    IRMapping mapping;
    mapping.map(loop_.getInductionVar(), number);
    mapping.map(loop_.getRegionIterArgs(), carried);
    mapping.map(tiles_, all.getTiles().slice(n * tiles_.size(), tiles_.size()));
    if (n == 0)
      return cloneBody(mapping);
    auto branch = b_.create<scf::IfOp>(loop_.getResultTypes(), exists, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(branch.elseBlock());
    b_.create<scf::YieldOp>(carried);
    b_.setInsertionPointToStart(branch.thenBlock());
    b_.create<scf::YieldOp>(cloneBody(mapping));
    return SmallVector<Value>(branch.getResults());
  }
  SmallVector<Value> cloneBody(IRMapping &mapping) {
    for (Operation &op : loop_.getBody()->without_terminator())
      b_.clone(op, mapping);
    return llvm::map_to_vector(loop_.getYieldedValues(),
                               [&](Value value) { return mapping.lookupOrDefault(value); });
  }

  scf::ForOp loop_;
  ImplicitLocOpBuilder b_;
  SmallVector<ReceiveOp> receives_;
  SmallVector<Operation *> exits_; ///< of requirements, which are met before anything is received
  scf::IfOp branch_;               ///< that they are in; null: the loop itself
  int64_t count_ = 1;
  SmallVector<Value> tiles_; ///< that stand in for those received
};

class ReceiveTogether : public impl::ReceiveTogetherBase<ReceiveTogether> {
  void runOnOperation() override {
    llvm::SetVector<scf::ForOp> loops;
    getOperation().walk([&](ReceiveOp receive) {
      if (auto loop = receive->getParentOfType<scf::ForOp>())
        loops.insert(loop);
    });
    if (loops.empty())
      return;
    if (failed(requireLayouts(getOperation())))
      return signalPassFailure();
    for (scf::ForOp loop : loops)
      if (Receiving receiving(loop); receiving.find())
        receiving.build();
  }
};

} // namespace
} // namespace ditron::gpu
