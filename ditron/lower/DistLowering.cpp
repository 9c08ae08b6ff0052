// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lower/DistLowering.h"
#include "ditron/lower/Views.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ditron::lower {

LogicalResult requireSignalMemory(func::FuncOp function) {
  WalkResult result = function.walk([](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<device::SignalsType, device::InboxType>(operand.getType()) &&
          !operand.getDefiningOp<UnrealizedConversionCastOp>()) {
        bool isInbox = isa<device::InboxType>(operand.getType());
        op->emitOpError() << "takes " << (isInbox ? "an inbox" : "signals")
                          << " without memory; expected those that "
                          << "--lower-hoist-symmetric makes arguments";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult DistLowering::lowerBody() {
  if (failed(lowerBlock(function_.front())))
    return failure();
  for (Operation *op : llvm::reverse(erasedLater_))
    op->erase();
  erasedLater_.clear();
  return success();
}

Value DistLowering::index(int64_t value) { return b_.create<arith::ConstantIndexOp>(loc_, value); }

LogicalResult DistLowering::lowerBlock(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  auto standBefore = [&](Operation *op) {
    b_.setInsertionPoint(op);
    loc_ = op->getLoc();
  };
  for (Operation *op : ops) {
    standBefore(op);
    if (auto role = dyn_cast<device::RoleOp>(op)) {
      if (failed(lowerRole(role)))
        return failure();
      continue;
    }
    for (Region &region : op->getRegions())
      for (Block &inner : region)
        if (failed(lowerBlock(inner)))
          return failure();
    standBefore(op);
    if (lowerOp(op))
      op->erase();
  }
  return success();
}

LogicalResult DistLowering::lowerRole(device::RoleOp role) {
  Value number = b_.createOrFold<arith::SubIOp>(loc_, core_, role.getFirst());
  Value mine = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, number, role.getCount());
  auto branch = b_.create<scf::IfOp>(loc_, mine, /*withElseRegion=*/false);
  Operation *end = branch.thenBlock()->getTerminator();
  mlir::Location loc = loc_;
  b_.setInsertionPoint(end);
  if (failed(enterRole(role)))
    return failure();
  branch.thenBlock()->getOperations().splice(end->getIterator(),
                                             role.getBody().front().getOperations());
  Value core = std::exchange(core_, number), cores = std::exchange(cores_, role.getCount());
  role.erase();
  if (failed(lowerBlock(*branch.thenBlock())))
    return failure();
  b_.setInsertionPoint(end);
  loc_ = loc;
  leaveRole();
  core_ = core, cores_ = cores;
  return success();
}

// Ranks are numbered node by node.

Value DistLowering::rankAlong(llvm::StringRef axis) {
  Value local = axis == device::MeshAxis::world ? Value() : localRanks();
  if (!local)
    return axis == device::MeshAxis::node ? index(0) : rank();
  if (axis == device::MeshAxis::node)
    return b_.create<arith::DivUIOp>(loc_, rank(), local);
  return b_.create<arith::RemUIOp>(loc_, rank(), local);
}

Value DistLowering::numRanksAlong(llvm::StringRef axis) {
  Value local = axis == device::MeshAxis::world ? Value() : localRanks();
  if (!local)
    return axis == device::MeshAxis::node ? index(1) : numRanks();
  if (axis == device::MeshAxis::node)
    return b_.create<arith::DivUIOp>(loc_, numRanks(), local);
  return local;
}

Value DistLowering::rankAt(Value place, llvm::StringRef axis) {
  Value local = axis == device::MeshAxis::world ? Value() : localRanks();
  if (!local)
    return axis == device::MeshAxis::node ? rank() : place;
  Value first = axis == device::MeshAxis::node ? place : rankAlong(device::MeshAxis::node);
  Value rest = axis == device::MeshAxis::node ? rankAlong(device::MeshAxis::local) : place;
  return b_.create<arith::AddIOp>(loc_, b_.create<arith::MulIOp>(loc_, first, local), rest);
}

/// Lowers one op; true if it is to be erased.
bool DistLowering::lowerOp(Operation *op) {
  auto replaceBy = [&](Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    return true;
  };
  auto later = [&] { return erasedLater_.push_back(op), false; };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](device::RankOp op) { return replaceBy(rankAlong(op.getAxis())); })
      .Case([&](device::NumRanksOp op) { return replaceBy(numRanksAlong(op.getAxis())); })
      .Case([&](device::RankAtOp op) { return replaceBy(rankAt(op.getPlace(), op.getAxis())); })
      .Case([&](device::CoreOp) { return replaceBy(core_); })
      .Case([&](device::NumCoresOp) { return replaceBy(cores_); })
      .Case([&](UnrealizedConversionCastOp cast) {
        return isa<device::SignalsType, device::InboxType>(cast.getResult(0).getType()) && later();
      })
      .Case([&](core::ChunkOp chunk) { return replaceBy(partOf(b_, chunk)); })
      .Case([&](core::RequireOp op) { return require(op), true; })
      .Case([&](device::PutOp op) {
        return put(op, op.getSource(), op.getDestination(), op.getPeer()), true;
      })
      .Case([&](device::PutTileOp op) { return putTile(op); })
      .Case([&](device::GetOp op) { return get(op), true; })
      .Case([&](device::NotifyOp op) {
        notify({op, op.getSignals(), op.getIndices(), op.getPeer(), op.getMode(), op.getValue()});
        return true;
      })
      .Case([&](device::PutNotifyOp op) {
        put(op, op.getSource(), op.getDestination(), op.getPeer());
        notify({op, op.getSignals(), op.getIndices(), op.getPeer(), op.getMode(), op.getValue()});
        return true;
      })
      .Case([&](device::WaitOp op) { return wait(op), true; })
      .Case([&](device::SendOp op) { return send(op); })
      .Case([&](device::ReceiveOp op) {
        Value tile = receive(op);
        return tile && replaceBy(tile);
      })
      .Case([&](device::FenceOp) { return fence(), true; })
      .Case([&](device::QuietOp) { return quiet(), true; })
      .Case([&](device::BarrierOp op) { return barrier(op), true; })
      .Case([&](device::MarkTileOp op) { return markTile(op), true; })
      .Default([](Operation *) { return false; });
}

} // namespace ditron::lower
