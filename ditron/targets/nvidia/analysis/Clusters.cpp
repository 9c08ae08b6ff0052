// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/nvidia/analysis/Clusters.h"
#include "ditron/device/ProgramOrder.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/nvidia/analysis/Fragments.h"
#include "ditron/targets/nvidia/analysis/Guards.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <numeric>

using namespace mlir;

namespace ditron::nvidia {

ClusterGift::ClusterGift(ClusterSumOp op, int64_t warps) : threads(warps * kLanes) {
  RankedTensorType tile = tileOf(op.getTile());
  registers = Distribution::of(core::layoutOf(tile), shapeOf(tile))->registers();
}

int64_t ClusterGift::run() const { return std::gcd<int64_t>(registers, 4); }

int64_t ClusterGift::bytes() const { return registers * threads * 4; }

int64_t ClusterGift::boxBytes(int64_t ctas) const {
  constexpr int64_t kBarriers = 16;
  return (ctas - 1) * bytes() + kBarriers;
}

int64_t clusterBoxBytes(func::FuncOp function, int64_t warps) {
  constexpr int64_t kAlignment = 1024;
  int64_t bytes = 0;
  function.walk([&](ClusterSumOp op) {
    int64_t one = ClusterGift(op, warps).boxBytes(static_cast<int64_t>(op.getCtas()));
    bytes += llvm::alignTo(one, kAlignment);
  });
  return bytes;
}

bool ClusterValues::isSameWay(Operation *op) {
  for (Operation *parent = op->getParentOp(); !isa<func::FuncOp>(parent);
       parent = parent->getParentOp()) {
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && !isSame(loop.getInductionVar()))
      return false;
    if (auto branch = dyn_cast<scf::IfOp>(parent); branch && !isSame(branch.getCondition()))
      return false;
  }
  return true;
}

bool ClusterValues::isSameOp(Operation *op) {
  return isSameWay(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isSame(operand); });
}

bool ClusterValues::canShare(core::LoadOp load) {
  if (!isSameOp(load))
    return false;
  return llvm::all_of(choicesOf(load.getView()),
                      [&](Value view) { return canShare(load, rootOf(view)); });
}

bool ClusterValues::canShare(core::LoadOp load, BlockArgument root) {
  auto function = load->getParentOfType<func::FuncOp>();
  if (root && function.getArgAttr(root.getArgNumber(), core::kReadOnlyAttr))
    return true;
  // What the CTA orders by itself is not ordered for the others.
  WalkResult result = function.walk([&](Operation *op) {
    auto move = dyn_cast<MoveOp>(op);
    bool orders = isa<SyncOp, MeetOp>(op) ||
                  (move && move.getComplete() && rootOf(move.getDestination()) == root);
    bool isOther = orders || (isa<WaitOp>(op) && !isSameOp(op));
    return isOther && device::mayPrecede(op, load) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

ClusterValues::Kind ClusterValues::kindOf(Value value) {
  auto [known, isNew] = kinds_.try_emplace(value, Kind::differs);
  if (!isNew)
    return known->second;
  Kind kind = kindAnew(value);
  return kinds_[value] = kind;
}

ClusterValues::Kind ClusterValues::kindAnew(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return kindOfResult(value.getDefiningOp());
  Operation *parent = argument.getOwner()->getParentOp();
  auto loop = dyn_cast<scf::ForOp>(parent);
  bool isFixed = loop && argument == loop.getInductionVar() && isSame(loop.getLowerBound()) &&
                 isSame(loop.getUpperBound()) && isSame(loop.getStep());
  return isFixed || isa<func::FuncOp>(parent) ? Kind::same : Kind::differs;
}

static bool isComparedWithMultiples(arith::CmpIPredicate predicate) {
  using Predicate = arith::CmpIPredicate;
  return predicate == Predicate::ult || predicate == Predicate::slt ||
         predicate == Predicate::uge || predicate == Predicate::sge;
}

ClusterValues::Kind ClusterValues::kindOfResult(Operation *op) {
  if (isa<NVVM::BlockIdXOp>(op))
    return Kind::ranked;
  if (isa<ClusterRankOp>(op) || !isMemoryEffectFree(op) || op->getNumRegions() > 0)
    return Kind::differs;
  if (llvm::all_of(op->getOperands(), [&](Value operand) { return isSame(operand); }))
    return Kind::same;
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtUIOp, arith::ExtSIOp>(op))
    return kindOf(op->getOperand(0));
  if (auto add = dyn_cast<arith::AddIOp>(op))
    return areRankedAndMultiple(add.getLhs(), add.getRhs()) ||
                   areRankedAndMultiple(add.getRhs(), add.getLhs())
               ? Kind::ranked
               : Kind::differs;
  if (auto sub = dyn_cast<arith::SubIOp>(op))
    return areRankedAndMultiple(sub.getLhs(), sub.getRhs()) ? Kind::ranked : Kind::differs;
  bool isRounded = isa<arith::DivUIOp>(op);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    isRounded = isComparedWithMultiples(compare.getPredicate());
  return isRounded && areRankedAndMultiple(op->getOperand(0), op->getOperand(1)) ? Kind::same
                                                                                 : Kind::differs;
}

bool ClusterValues::isMultiple(Value value) {
  if (auto number = getConstantIntValue(value))
    return *number % ctas_ == 0;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<NVVM::GridDimXOp>(op)) // a launch has whole clusters
    return true;
  auto isOne = [&](Value operand) { return isMultiple(operand); };
  if (isa<arith::MulIOp>(op))
    return llvm::any_of(op->getOperands(), isOne);
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return llvm::all_of(op->getOperands(), isOne);
  return isa<arith::IndexCastOp, arith::IndexCastUIOp>(op) && isOne(op->getOperand(0));
}

} // namespace ditron::nvidia
