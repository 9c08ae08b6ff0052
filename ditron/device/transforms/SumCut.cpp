// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/transforms/SumCut.h"
#include "ditron/device/LoopCarry.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::device {
namespace {

bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

/// Whether result `number` of a reduction is made by adding.
bool adds(scf::ForOp loop, unsigned number) {
  Value last = loop.getYieldedValues()[number];
  if (auto inner = last.getDefiningOp<scf::ForOp>())
    return adds(inner, cast<OpResult>(last).getResultNumber());
  return isa_and_nonnull<core::DotOp, arith::AddFOp, arith::AddIOp>(last.getDefiningOp());
}

class Cutter {
public:
  Cutter(core::StoreOp store, StringRef placement)
      : store_(store), block_(store->getBlock()), placement_(placement) {}

  FailureOr<SumCut> run() {
    if (failed(follow(store_.getTile())))
      return failure();
    for (Value coord : store_.getCoords())
      if (failed(follow(coord)))
        return failure();
    if (cut_.sums.empty())
      return LogicalResult(store_.emitError()
                           << placement_
                           << ", but what is stored is no sum, and what follows from "
                              "none: there is nothing to add over the ranks");
    for (Value sum : cut_.sums)
      collect(sum.getDefiningOp());
    for (Operation *op : cut_.after)
      if (cut_.before.contains(op) && !isMemoryEffectFree(op))
        return LogicalResult(op->emitError()
                             << placement_
                             << ", but what this reads goes both into the sum, of which each rank "
                                "computes a summand, and into what follows from it");
    return cut_;
  }

private:
  /// What `value` is computed from, back to the sums.
  LogicalResult follow(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != block_ || cut_.after.contains(op))
      return success();
    if (isSum(value)) {
      cut_.sums.insert(value);
      return success();
    }
    bool reads = isa<core::LoadOp, core::GatherOp, memref::LoadOp>(op);
    if (op->getNumRegions() > 0 || (!reads && !isMemoryEffectFree(op)))
      return refuse(op);
    for (Value operand : op->getOperands())
      if (failed(follow(operand)))
        return failure();
    cut_.after.insert(op);
    return success();
  }

  LogicalResult refuse(Operation *op) {
    InFlightDiagnostic error = op->emitError() << placement_ << ", but ";
    auto loop = dyn_cast<scf::ForOp>(op);
    if (loop && carryOf(loop) == Carry::ordered)
      error << "what this loop carries depends on the order of its steps, and is stored: expected "
               "a sum";
    else if (loop && carryOf(loop) == Carry::reduction)
      error << "what this loop computes is stored, and is no sum that begins with 0";
    else
      error << "what is stored follows from " << op->getName()
            << ", which is no sum and cannot be left to the rank that has the sum";
    return error;
  }

  bool isSum(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != block_)
      return false;
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case([&](core::DotOp op) { return isStart(op.getAcc()); })
        .Case([&](core::ReduceOp op) { return op.getKind() == core::ReduceKind::sum; })
        .Case([&](scf::ForOp op) {
          unsigned number = cast<OpResult>(value).getResultNumber();
          return carryOf(op) == Carry::reduction && adds(op, number) &&
                 isStart(op.getInitArgs()[number]);
        })
        .Case<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp, arith::NegFOp,
              core::TransposeOp, core::ReshapeOp, core::BroadcastOp>([&](Operation *op) {
          return llvm::all_of(op->getOperands(), [&](Value operand) { return isSum(operand); });
        })
        .Default([](Operation *) { return false; });
  }

  bool isStart(Value value) { return isZero(value) || isSum(value); }

  /// What computes a sum.
  void collect(Operation *op) {
    if (!op || op->getBlock() != block_ || !cut_.before.insert(op))
      return;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        collect(operand.getDefiningOp());
    });
  }

  core::StoreOp store_;
  Block *block_;
  StringRef placement_;
  SumCut cut_;
};

} // namespace

FailureOr<SumCut> cutAtSums(core::StoreOp store, StringRef placement) {
  return Cutter(store, placement).run();
}

} // namespace ditron::device
