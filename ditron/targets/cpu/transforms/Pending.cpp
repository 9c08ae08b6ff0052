// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A store that trails into the next tile of a loop. The last row of a tile, with all that it is
// computed from, is left pending; the next tile stores it beside its first row. It is stored before
// that where control goes another way, and after the loop, so that nothing sees it missing:
// loopOf() takes no loop in which other ops touch views on the way from tile to tile.
#include "ditron/targets/cpu/transforms/TileLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ditron::cpu {

/// Whether an element of `value` can be computed when the tile it belongs to is gone: from what was
/// materialised and what the loop does not change.
bool TileLowering::outlivesTile(Value value, const Trail &trail, scf::ForOp loop) {
  Operation *op = value.getDefiningOp();
  core::ReduceOp reduce = trail.reduce;
  if (value == reduce.getSource() || value == reduce.getResult() ||
      llvm::is_contained(trail.between, op))
    return true;
  if (!isTile(value))
    return loop.isDefinedOutsideOfLoop(value) || (op && op->hasTrait<OpTrait::ConstantLike>());
  return op && !isa<core::LoadOp>(op) && !buffers_.count(value) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return outlivesTile(operand, trail, loop); });
}

/// Whether an op of the program, or one in it, may read or write memory of views; what was lowered
/// before it only has the core's own.
static bool touchesViews(Operation &op) {
  return op
      .walk([](Operation *inner) {
        bool isOurs = isa<core::TileDialect, device::DistDialect>(inner->getDialect());
        return isOurs && !isMemoryEffectFree(inner) &&
                       !isa<core::RequireOp, device::MarkTileOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether nothing on a level of the loop comes between the stores of one tile and the next: loads,
/// which are collected, come before `inner`; nothing else touches views, or computes tiles
/// afterwards.
bool TileLowering::isQuiet(Operation *inner, Reads &loads) {
  bool isAfter = false;
  for (Operation &op : *inner->getBlock()) {
    if (&op == inner) {
      isAfter = true;
    } else if (auto load = dyn_cast<core::LoadOp>(op); load && !isAfter) {
      auto access = accesses_.find(load);
      if (access == accesses_.end())
        return false;
      loads.push_back(&access->second);
    } else if (touchesViews(op) || (isAfter && llvm::any_of(op.getResults(), isTile))) {
      return false;
    }
  }
  return true;
}

/// The loop whose next iteration may store the last row of a trail's tile; collects what it reads.
scf::ForOp TileLowering::loopOf(const Trail &trail, Reads &loads) {
  Operation *inner = core::StoreOp(trail.store);
  while (isQuiet(inner, loads)) {
    Operation *parent = inner->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      return llvm::none_of(loop.getResults(), isTile) &&
                     outlivesTile(core::StoreOp(trail.store).getTile(), trail, loop)
                 ? loop
                 : scf::ForOp();
    if (!isa<scf::IfOp>(parent) || parent->getNumResults())
      break;
    inner = parent;
  }
  return {};
}

/// Declares the variables, before the loop: no row is pending.
TileLowering::Pending TileLowering::declarePending(const Buffers &buffers, int64_t rows,
                                                   scf::ForOp loop) {
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&function_.getBody().front());
  auto variable = [&](Type type) -> Value {
    return b_.create<memref::AllocaOp>(loc_, MemRefType::get({}, type));
  };
  auto again = [&](Value buffer) -> Value { // where the whole function sees it
    auto view = buffer.getDefiningOp<memref::ViewOp>();
    APInt shift;
    matchPattern(view.getByteShift(), m_ConstantInt(&shift));
    return b_.create<memref::ViewOp>(loc_, view.getType(), arena_, index(shift.getSExtValue()),
                                     ValueRange());
  };
  Pending pending;
  pending.isThere = variable(b_.getI1Type());
  pending.address = variable(b_.getIndexType());
  for (auto [tile, buffer] : buffers) {
    pending.buffers[0][tile] = again(buffer);
    if (rows == 1)
      pending.buffers[1][tile] = bufferFor(cast<RankedTensorType>(tile.getType()));
  }
  if (rows == 1)
    pending.slot = variable(b_.getI1Type());
  b_.setInsertionPoint(loop);
  auto clear = [&](Value flag) {
    b_.create<memref::StoreOp>(loc_, b_.create<arith::ConstantIntOp>(loc_, 0, 1), flag);
  };
  clear(pending.isThere);
  if (rows == 1)
    clear(pending.slot);
  return pending;
}

/// The buffers of the tile that is being computed, or of the one whose row is pending.
TileLowering::Buffers TileLowering::buffersOf(const Pending &pending, bool isCurrent) {
  if (!pending.hasSlots())
    return pending.buffers[0];
  Value slot = b_.create<memref::LoadOp>(loc_, pending.slot);
  Buffers chosen;
  for (auto [tile, buffer] : pending.buffers[0]) {
    Value other = pending.buffers[1].lookup(tile);
    chosen[tile] = b_.create<arith::SelectOp>(loc_, slot, isCurrent ? other : buffer,
                                              isCurrent ? buffer : other);
  }
  return chosen;
}

void TileLowering::wherePending(const Pending &pending, const std::function<void()> &then,
                                const std::function<void()> &otherwise) {
  Value isThere = b_.create<memref::LoadOp>(loc_, pending.isThere);
  auto branch = b_.create<scf::IfOp>(loc_, isThere, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  then();
  b_.setInsertionPoint(branch.elseBlock()->getTerminator());
  otherwise();
}

/// Writes `body` with the tiles in these buffers.
void TileLowering::withBuffers(const Buffers &buffers, const std::function<void()> &body) {
  Buffers outer;
  for (auto [tile, buffer] : buffers)
    outer[tile] = std::exchange(buffers_[tile], buffer);
  body();
  for (auto [tile, buffer] : outer)
    if (buffer)
      buffers_[tile] = buffer;
    else
      buffers_.erase(tile);
}

/// What stores a vector of the pending row.
TileLowering::Beside TileLowering::storePending(const Trail &trail, const Pending &pending) {
  Value stored = core::StoreOp(trail.store).getTile();
  auto type = cast<RankedTensorType>(stored.getType());
  Value row = index(type.getDimSize(0) - 1);
  Value address = b_.create<memref::LoadOp>(loc_, pending.address);
  int64_t bytes = core::elementBytes(storageType(type.getElementType()));
  return [=, this, buffers = buffersOf(pending, false)](Value column, int64_t width) {
    withBuffers(buffers, [&] {
      streamTo(add(address, mul(column, index(bytes))), emit(stored, {row, column}, width),
               type.getElementType());
    });
  };
}

/// Stores the pending row, if there is one.
void TileLowering::flush(const Trail &trail, const Pending &pending) {
  auto type = cast<RankedTensorType>(core::StoreOp(trail.store).getTile().getType());
  int64_t lanes = target_.vectorBytes / 4;
  auto store = [&] {
    Beside beside = storePending(trail, pending);
    forRange(index(0), index(type.getDimSize(1)), lanes,
             [&](Value column) { beside(column, lanes); });
    b_.create<memref::StoreOp>(loc_, b_.create<arith::ConstantIntOp>(loc_, 0, 1), pending.isThere);
  };
  wherePending(pending, store, [] {});
}

/// Stores the pending row wherever control goes another way than through the trail.
void TileLowering::flushAround(const Trail &trail, const Pending &pending, scf::ForOp loop) {
  OpBuilder::InsertionGuard guard(b_);
  for (Operation *inner = core::StoreOp(trail.store); inner->getParentOp() != loop;
       inner = inner->getParentOp())
    for (Region &region : inner->getParentOp()->getRegions())
      if (&region != inner->getParentRegion() && !region.empty()) {
        b_.setInsertionPointToStart(&region.front());
        flush(trail, pending);
      }
  b_.setInsertionPointAfter(loop);
  flush(trail, pending);
}

/// Leaves the last row of a tile, which goes to `address`, to the next one.
void TileLowering::leavePending(const Pending &pending, Value address) {
  Value yes = b_.create<arith::ConstantIntOp>(loc_, 1, 1);
  b_.create<memref::StoreOp>(loc_, yes, pending.isThere);
  b_.create<memref::StoreOp>(loc_, address, pending.address);
  if (!pending.hasSlots())
    return;
  Value slot = b_.create<memref::LoadOp>(loc_, pending.slot);
  b_.create<memref::StoreOp>(loc_, b_.create<arith::XOrIOp>(loc_, slot, yes), pending.slot);
}

} // namespace ditron::cpu
