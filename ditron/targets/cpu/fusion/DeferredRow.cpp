// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/targets/cpu/fusion/DeferredRow.h"
#include "ditron/device/DistOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ditron::cpu {

//===-- Where a row may be deferred -----------------------------------------------------------===//

/// Whether an element of `value` can be computed when the tile it belongs to is gone: from what was
/// materialised and what the loop does not change.
static bool outlivesTile(Value value, const TrailingStore &trailing, const TileBuffers &buffers,
                         scf::ForOp loop) {
  Operation *op = value.getDefiningOp();
  if (trailing.materialises(value))
    return true;
  if (!isTile(value))
    return loop.isDefinedOutsideOfLoop(value) || (op && op->hasTrait<OpTrait::ConstantLike>());
  return op && !isa<core::LoadOp>(op) && !buffers.has(value) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return outlivesTile(operand, trailing, buffers, loop);
         });
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
static bool isQuiet(Operation *inner, const ViewReads &reads, Accesses &loads) {
  bool isAfter = false;
  for (Operation &op : *inner->getBlock()) {
    if (&op == inner) {
      isAfter = true;
    } else if (auto load = dyn_cast<core::LoadOp>(op); load && !isAfter) {
      const Access *access = reads.find(load);
      if (!access)
        return false;
      loads.push_back(access);
    } else if (touchesViews(op) || (isAfter && llvm::any_of(op.getResults(), isTile))) {
      return false;
    }
  }
  return true;
}

scf::ForOp loopToDefer(const TrailingStore &trailing, const TileBuffers &buffers,
                       const ViewReads &reads, Accesses &loads) {
  Operation *inner = core::StoreOp(trailing.store);
  while (isQuiet(inner, reads, loads)) {
    Operation *parent = inner->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      return llvm::none_of(loop.getResults(), isTile) &&
                     outlivesTile(trailing.stored(), trailing, buffers, loop)
                 ? loop
                 : scf::ForOp();
    if (!isa<scf::IfOp>(parent) || parent->getNumResults())
      break;
    inner = parent;
  }
  return {};
}

//===-- The row -------------------------------------------------------------------------------===//

Value DeferredRow::variable(Type type) {
  return v_.create<memref::AllocaOp>(MemRefType::get({}, type));
}

DeferredRow::DeferredRow(VectorBuilder &v, func::FuncOp function, TileBuffers &buffers,
                         TileEmitter &emitter, const TrailingStore &trailing,
                         const BufferMap &rowBuffers, scf::ForOp loop)
    : v_(v), buffers_(buffers), emitter_(emitter), trailing_(trailing), loop_(loop) {
  bool isOneRow = tileOf(trailing.source()).getDimSize(0) == 1;
  OpBuilder::InsertionGuard guard(v_.b);
  v_.b.setInsertionPointToStart(&function.getBody().front()); // where the whole function sees it
  isThere_ = variable(v_.b.getI1Type());
  address_ = variable(v_.b.getIndexType());
  for (auto [tile, buffer] : rowBuffers) {
    slots_[0][tile] = buffers_.again(buffer);
    if (isOneRow)
      slots_[1][tile] = buffers_.allocate(tileOf(tile));
  }
  if (isOneRow)
    slot_ = variable(v_.b.getI1Type());
  v_.b.setInsertionPoint(loop);
  v_.create<memref::StoreOp>(v_.truth(false), isThere_);
  if (isOneRow)
    v_.create<memref::StoreOp>(v_.truth(false), slot_);
}

/// The buffers of the tile that is being computed, or of the one whose row is deferred.
BufferMap DeferredRow::buffersOf(bool isCurrent) {
  if (!hasSlots())
    return slots_[0];
  Value slot = v_.create<memref::LoadOp>(slot_);
  BufferMap chosen;
  for (auto [tile, buffer] : slots_[0]) {
    Value other = slots_[1].lookup(tile);
    chosen[tile] =
        v_.create<arith::SelectOp>(slot, isCurrent ? other : buffer, isCurrent ? buffer : other);
  }
  return chosen;
}

void DeferredRow::where(const std::function<void()> &then, const std::function<void()> &otherwise) {
  v_.ifElse(v_.create<memref::LoadOp>(isThere_), then, otherwise);
}

Beside DeferredRow::store() {
  auto type = tileOf(trailing_.stored());
  Value row = v_.index(type.getDimSize(0) - 1);
  Value address = v_.create<memref::LoadOp>(address_);
  int64_t bytes = core::elementBytes(storageType(type.getElementType()));
  return [=, this, buffers = buffersOf(false)](Value column, int64_t width) {
    buffers_.with(buffers, [&] {
      Value there = v_.add(address, v_.mul(column, v_.index(bytes)));
      Value vector = emitter_.emit(trailing_.stored(), {row, column}, width, Coverage::whole);
      streamTo(v_, there, vector, type.getElementType());
    });
  };
}

void DeferredRow::flush() {
  auto type = tileOf(trailing_.stored());
  int64_t lanes = v_.wholeLanes();
  auto storeAll = [&] {
    Beside beside = store();
    v_.forRange(v_.index(0), v_.index(type.getDimSize(1)), lanes,
                [&](Value column) { beside(column, lanes); });
    v_.create<memref::StoreOp>(v_.truth(false), isThere_);
  };
  where(storeAll, [] {});
}

void DeferredRow::flushAround() {
  OpBuilder::InsertionGuard guard(v_.b);
  for (Operation *inner = core::StoreOp(trailing_.store); inner->getParentOp() != loop_;
       inner = inner->getParentOp())
    for (Region &region : inner->getParentOp()->getRegions())
      if (&region != inner->getParentRegion() && !region.empty()) {
        v_.b.setInsertionPointToStart(&region.front());
        flush();
      }
  v_.b.setInsertionPointAfter(loop_);
  flush();
}

void DeferredRow::leave(Value address) {
  Value yes = v_.truth(true);
  v_.create<memref::StoreOp>(yes, isThere_);
  v_.create<memref::StoreOp>(address, address_);
  if (!hasSlots())
    return;
  Value slot = v_.create<memref::LoadOp>(slot_);
  v_.create<memref::StoreOp>(v_.create<arith::XOrIOp>(slot, yes), slot_);
}

} // namespace ditron::cpu
