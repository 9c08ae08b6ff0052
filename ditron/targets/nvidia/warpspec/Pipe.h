// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pipe of tiles in shared memory, as its threads reach it.
#pragma once
#include "ditron/targets/nvidia/emit/ThreadBuilder.h"
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace ditron::nvidia {

/// Words of a thread's position in a pipe. `ahead`: slots that were filled ahead and are not acquired yet, and
/// whether the one that was acquired last is one of them.
enum Position {
  kFillSlot,
  kFillParity,
  kTakeSlot,
  kTakeParity,
  kFreeSlot,
  kAhead,
  kIsAhead,
  kPositions
};

/// Bytes that TMA brings of a tile.
inline int64_t broughtBytes(mlir::RankedTensorType tile) {
  return tile.getNumElements() * storageBytes(tile.getElementType());
}

/// Bytes of shared memory of a tile, and of a slot.
inline int64_t tileBytes(mlir::RankedTensorType tile) {
  constexpr int64_t kTileAlignment = 1024;
  int64_t bytes = broughtBytes(tile);
  return (bytes + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
}

inline int64_t slotBytes(PipeType pipe) {
  int64_t bytes = 0;
  for (mlir::RankedTensorType tile : pipe.getTiles())
    bytes += tileBytes(tile);
  return bytes;
}

/// A pipe as one of its threads sees it: its layout in shared memory is in RolePatterns.cpp.
class Pipe {
public:
  using Value = mlir::Value;
  Pipe(ThreadBuilder &t, PipeType type, Value converted) : t_(t), type_(type) {
    base_ = t.b.create<mlir::LLVM::ExtractValueOp>(t.loc, converted, 0);
    positions_ = t.b.create<mlir::LLVM::ExtractValueOp>(t.loc, converted, 1);
    there_ = t.b.create<mlir::LLVM::ExtractValueOp>(t.loc, converted, 2);
  }

  Value get(Position which) {
    return t_.b.create<mlir::LLVM::LoadOp>(t_.loc, t_.b.getI32Type(), address(which));
  }
  void set(Position which, Value value) {
    t_.b.create<mlir::LLVM::StoreOp>(t_.loc, value, address(which));
  }
  /// The slot after one, and whether that is the first again.
  std::pair<Value, Value> next(Value slot) {
    Value after = t_.add(slot, t_.i32(1));
    Value wraps = t_.b.create<mlir::arith::CmpIOp>(t_.loc, mlir::arith::CmpIPredicate::eq, after,
                                                   t_.i32(type_.getSlots()));
    return {t_.b.create<mlir::arith::SelectOp>(t_.loc, wraps, t_.i32(0), after), wraps};
  }
  /// Moves a slot and its parity on.
  void advance(Position slot, Position parity) {
    auto [after, wraps] = next(get(slot));
    Value before = get(parity);
    Value flipped = t_.b.create<mlir::arith::XOrIOp>(t_.loc, before, t_.i32(1));
    set(slot, after);
    set(parity, t_.b.create<mlir::arith::SelectOp>(t_.loc, wraps, flipped, before));
  }

  Value full(Value slot) { return barrier(slot, 0); }
  Value empty(Value slot) { return barrier(slot, type_.getSlots()); }
  /// The word that is not 0 when consumers have left: nvidia.pipe leaving.
  Value leaving() {
    return t_.offset(base_, type_.getSlots() * (slotBytes(type_) + 2 * kBarrierBytes));
  }
  /// The same of the CTA whose rank is this lane's number: i32.
  Value emptyThere(Value slot) {
    Value place = t_.add(there_, t_.mul(slot, t_.i32(kBarrierBytes)));
    return t_.add(place,
                  t_.i32(type_.getSlots() * slotBytes(type_) + type_.getSlots() * kBarrierBytes));
  }
  /// This warp has read its oldest slot, if the condition holds: a lane tells each CTA.
  void release(Value condition) {
    mlir::OpBuilder &b = t_.b;
    Value slot = get(kFreeSlot);
    Value isChosen = b.create<mlir::arith::CmpIOp>(t_.loc, mlir::arith::CmpIPredicate::ult,
                                                   t_.context.lane, t_.i32(type_.getCtas()));
    Value arrives = b.create<mlir::arith::AndIOp>(t_.loc, isChosen, condition);
    if (type_.getCtas() > 1)
      t_.instructions.arriveInCluster(emptyThere(slot), arrives);
    else
      t_.instructions.arrive(empty(slot), arrives);
    set(kFreeSlot, b.create<mlir::arith::SelectOp>(t_.loc, condition, next(slot).first, slot));
  }
  /// The same of a slot whose elements this warp's threads have loaded. Copies are made by another proxy than loads, so a
  /// fence stands between these and what a copy brings next: a load may be under way when its warp arrives.
  void releaseLoaded() {
    t_.instructions.fenceShared();
    t_.b.create<mlir::NVVM::SyncWarpOp>(t_.loc, t_.i32(-1));
    release(t_.b.create<mlir::arith::ConstantIntOp>(t_.loc, 1, 1));
  }
  Value tile(Value slot, size_t number) {
    int64_t before = 0;
    for (mlir::RankedTensorType tile : type_.getTiles().take_front(number))
      before += tileBytes(tile);
    Value place = t_.offset(base_, t_.mul(slot, t_.i32(slotBytes(type_))));
    return t_.offset(place, before);
  }

private:
  Value address(Position which) { return t_.offset(positions_, int64_t(4) * which); }
  Value barrier(Value slot, int64_t first) {
    Value place = t_.offset(base_, t_.mul(slot, t_.i32(kBarrierBytes)));
    return t_.offset(place, type_.getSlots() * slotBytes(type_) + first * kBarrierBytes);
  }

  ThreadBuilder &t_;
  PipeType type_;
  Value base_, positions_, there_;
};

} // namespace ditron::nvidia
