// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop whose last product takes what each iteration computes from its first one:
//
//   scf.for %j = %lb to %ub step %s iter_args(%x = %x0, %sum = %sum0) {
//     %s = nvidia.wgmma %q, (receive %keys), zero
//     %p, %y, %scaled = f(%s, %x, %sum)
//     %d = nvidia.wgmma %p, (receive %values), %scaled
//     scf.yield %y, %d
//   }
// becomes
//   scf.if %lb < %ub {
//     %s = nvidia.wgmma %q, (receive %keys), zero
//     %p, %y, %scaled = f(%s, %x0, %sum0)
//     scf.for %j = %lb + %s to %ub step %s iter_args(%x = %y, %p = %p, %sum = %scaled) {
//       nvidia.ping_pong_wait
//       %s = nvidia.wgmma %q, (receive %keys), zero
//       %d = nvidia.wgmma %p, (receive %values), %sum       // of the iteration before
//       nvidia.ping_pong_arrive
//       %p', %y, %scaled = f(%s, %x, %d)
//       scf.yield %y, %p', %scaled
//     }
//     %d = nvidia.wgmma %p, (receive %values), %sum
//   }
//
// So the tensor cores have work while f is computed, as far as it does not wait for %d (Shah et
// al., arXiv 2407.08608, call it intra-warpgroup overlap). Pipes are read in the order in which
// they were: each has its own.
#include "ditron/targets/nvidia/warpspec/Consumer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ditron::nvidia {

namespace {

class Overlap {
public:
  Overlap(scf::ForOp loop, bool isPingPong)
      : loop_(loop), isPingPong_(isPingPong), b_(loop.getLoc(), loop) {}

  /// Which ops of the body are begun later; false where the loop is not of that kind.
  bool plan() {
    auto products = llvm::to_vector(loop_.getBody()->getOps<WgmmaOp>());
    if (products.size() != 2)
      return false;
    first_ = products[0], last_ = products[1];
    Operation *yield = loop_.getBody()->getTerminator();
    if (!llvm::all_of(last_->getUsers(), [&](Operation *user) { return user == yield; }))
      return false;
    late_.insert(last_);
    collectLate(last_.getRhs());
    collectLate(last_.getLhs());
    return isReceived(last_.getRhs()) && dependsOnFirst() && isHeadEarly() && hasOwnPipes();
  }

  void build() {
    collectCrossing();
    Value isAny = b_.create<arith::CmpIOp>(arith::CmpIPredicate::slt, loop_.getLowerBound(),
                                           loop_.getUpperBound());
    auto branch = b_.create<scf::IfOp>(loop_.getResultTypes(), isAny, /*withElseRegion=*/true);
    b_.setInsertionPointToStart(branch.elseBlock());
    b_.create<scf::YieldOp>(loop_.getInitArgs());
    b_.setInsertionPointToStart(branch.thenBlock());
    scf::ForOp inner = buildLoop();
    b_.create<scf::YieldOp>(finish(inner));
    loop_.replaceAllUsesWith(branch.getResults());
    loop_.erase();
  }

private:
  /// What brings an operand, and only that, comes with the product.
  void collectLate(Value operand) {
    Operation *op = operand.getDefiningOp();
    bool isOwn =
        isa_and_present<ReceiveOp, ClipOp, core::TransposeOp>(op) &&
        op->getBlock() == loop_.getBody() &&
        llvm::all_of(op->getUsers(), [&](Operation *user) { return late_.contains(user); });
    if (!isOwn)
      return;
    late_.insert(op);
    if (!isa<ReceiveOp>(op))
      collectLate(op->getOperand(0));
  }

  bool isReceived(Value operand) {
    Operation *op = operand.getDefiningOp();
    while (op && late_.contains(op) && !isa<ReceiveOp>(op))
      op = op->getOperand(0).getDefiningOp();
    return op && late_.contains(op) && isa<ReceiveOp>(op);
  }

  /// All that follows in the body from a value.
  llvm::SetVector<Operation *> following(ValueRange values) {
    llvm::SetVector<Operation *> result;
    auto add = [&](Value value) {
      for (Operation *user : value.getUsers())
        if (Operation *top = loop_.getBody()->findAncestorOpInBlock(*user))
          result.insert(top);
    };
    for (Value value : values)
      add(value);
    for (size_t n = 0; n < result.size(); ++n)
      for (Value value : result[n]->getResults())
        add(value);
    return result;
  }

  bool dependsOnFirst() { return following(first_.getResult()).contains(last_); }

  /// Whether nothing up to the first product needs the last one of the iteration before.
  bool isHeadEarly() {
    SmallVector<Value> sums;
    for (auto [argument, yielded] : llvm::zip(loop_.getRegionIterArgs(), loop_.getYieldedValues()))
      if (isLate(yielded))
        sums.push_back(argument);
    auto after = following(sums);
    return llvm::none_of(
        after, [&](Operation *op) { return op == first_ || op->isBeforeInBlock(first_); });
  }

  /// Whether tiles of the last product come by pipes that nothing else of the loop reads.
  bool hasOwnPipes() {
    llvm::DenseSet<Value> late, early;
    loop_.getBody()->walk([&](ReceiveOp receive) {
      (late_.contains(receive) ? late : early).insert(receive.getPipe());
    });
    return llvm::none_of(late, [&](Value pipe) { return early.contains(pipe); });
  }

  bool isLate(Value value) {
    Operation *op = value.getDefiningOp();
    return op && late_.contains(op);
  }

  /// What the later ops take from the earlier ones.
  void collectCrossing() {
    for (Operation *op : late_)
      for (Value operand : op->getOperands())
        if (operand.getParentRegion() == &loop_.getRegion() && !isLate(operand))
          crossing_.insert(operand);
  }

  /// Copies ops of the body: the later ones, or of the others those of a part.
  void copyLate(IRMapping &mapping) {
    for (Operation &op : loop_.getBody()->without_terminator())
      if (late_.contains(&op))
        b_.clone(op, mapping);
  }
  void copyEarly(IRMapping &mapping, bool head, bool rest) {
    for (Operation &op : loop_.getBody()->without_terminator()) {
      bool isHead = &op == first_ || op.isBeforeInBlock(first_);
      if (late_.contains(&op) || !(isHead ? head : rest))
        continue;
      if (&op == first_ && isPingPong_ && !rest)
        b_.create<PingPongWaitOp>();
      b_.clone(op, mapping);
    }
  }

  /// What an iteration passes on: the results that are there, then what the later ops take.
  SmallVector<Value> passed(const IRMapping &mapping) {
    SmallVector<Value> values;
    for (Value yielded : loop_.getYieldedValues())
      if (!isLate(yielded))
        values.push_back(mapping.lookupOrDefault(yielded));
    for (Value value : crossing_)
      values.push_back(mapping.lookupOrDefault(value));
    return values;
  }

  /// Maps the later ops' operands to what was passed on.
  void takeCrossing(IRMapping &mapping, ValueRange values) {
    for (auto [value, given] : llvm::zip(crossing_, values.take_back(crossing_.size())))
      mapping.map(value, given);
  }

  /// The first iteration without its last product, and the loop over the others.
  scf::ForOp buildLoop() {
    IRMapping first;
    first.map(loop_.getInductionVar(), loop_.getLowerBound());
    for (auto [argument, init] : llvm::zip(loop_.getRegionIterArgs(), loop_.getInitArgs()))
      first.map(argument, init);
    copyEarly(first, true, true);
    Value second = b_.create<arith::AddIOp>(loop_.getLowerBound(), loop_.getStep());
    auto inner =
        b_.create<scf::ForOp>(second, loop_.getUpperBound(), loop_.getStep(), passed(first));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(inner.getBody());
    IRMapping before, now;
    takeCrossing(before, inner.getRegionIterArgs());
    now.map(loop_.getInductionVar(), inner.getInductionVar());
    mapArguments(now, inner.getRegionIterArgs(), before);
    copyEarly(now, true, false);
    copyLate(before);
    if (isPingPong_)
      b_.create<PingPongArriveOp>();
    mapArguments(now, inner.getRegionIterArgs(), before);
    copyEarly(now, false, true);
    b_.create<scf::YieldOp>(passed(now));
    return inner;
  }

  /// Maps the loop's arguments to what was passed on, and to what the later ops have made.
  void mapArguments(IRMapping &mapping, ValueRange values, const IRMapping &late) {
    size_t next = 0;
    for (auto [argument, yielded] : llvm::zip(loop_.getRegionIterArgs(), loop_.getYieldedValues()))
      if (!isLate(yielded))
        mapping.map(argument, values[next++]);
      else if (late.contains(yielded))
        mapping.map(argument, late.lookup(yielded));
  }

  /// The last iteration's later ops; the results.
  SmallVector<Value> finish(scf::ForOp inner) {
    IRMapping mapping;
    takeCrossing(mapping, inner.getResults());
    copyLate(mapping);
    SmallVector<Value> results;
    size_t next = 0;
    for (Value yielded : loop_.getYieldedValues())
      results.push_back(isLate(yielded) ? mapping.lookup(yielded) : inner.getResult(next++));
    return results;
  }

  scf::ForOp loop_;
  bool isPingPong_;
  ImplicitLocOpBuilder b_;
  WgmmaOp first_, last_;
  llvm::SetVector<Operation *> late_;
  llvm::SetVector<Value> crossing_;
};

} // namespace

void overlapProducts(scf::ForOp loop, int64_t warps) {
  Overlap overlap(loop, warps > kWarpgroup);
  if (overlap.plan())
    overlap.build();
}

} // namespace ditron::nvidia
