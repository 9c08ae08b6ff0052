// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk by which a backend lowers the dist dialect: every verb of a function once, in order,
// those in nested blocks before the op that holds them. A backend says what each verb becomes;
// roles become branches on the core's number, puts that notify a put and a notify. A verb that is
// added to the dialect is added here, and to each backend as the compiler then demands.
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/device/DistOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace ditron::lower {

/// Whether all signals and inboxes that a function uses have memory, as `lower-hoist-symmetric`
/// gives it to them; an error at the first op where they have none.
mlir::LogicalResult requireSignalMemory(mlir::func::FuncOp function);

class DistLowering {
protected:
  explicit DistLowering(mlir::func::FuncOp function)
      : function_(function), b_(function.getContext()), loc_(function.getLoc()) {}
  ~DistLowering() = default;

  /// Lowers all verbs of the function. core_ and cores_ are those of the kernel by then.
  mlir::LogicalResult lowerBody();

  /// A verb and its place: notify, alone or behind a put.
  struct Notify {
    mlir::Operation *op;
    mlir::Value signals;
    mlir::ValueRange indices;
    mlir::Value peer; ///< null: this rank
    device::NotifyMode mode;
    mlir::Value value;
  };

  // What a backend makes of the verbs. The builder stands before the op.
  virtual mlir::Value rank() = 0;
  virtual mlir::Value numRanks() = 0;
  virtual mlir::Value localRanks() = 0; ///< of each node; null: there is one node
  virtual void put(mlir::Operation *op, mlir::Value source, mlir::Value destination,
                   mlir::Value peer) = 0;
  virtual bool putTile(device::PutTileOp) { return false; } ///< where peers' memory is mapped
  virtual void get(device::GetOp get) = 0;
  virtual void notify(const Notify &notify) = 0;
  virtual void wait(device::WaitOp wait) = 0;
  /// A backend that has no inboxes leaves them, and has dist-expand-inboxes run before.
  virtual bool send(device::SendOp) { return false; }
  virtual mlir::Value receive(device::ReceiveOp) { return {}; }
  virtual void fence() = 0;
  virtual void quiet() = 0;
  virtual void barrier(device::BarrierOp barrier) = 0;
  virtual void require(core::RequireOp require) = 0;
  virtual void markTile(device::MarkTileOp mark) = 0;
  /// Whether cores can run a role, and what goes before and behind its body.
  virtual mlir::LogicalResult enterRole(device::RoleOp role) = 0;
  virtual void leaveRole() = 0;

  mlir::Value index(int64_t value);

  mlir::func::FuncOp function_;
  mlir::OpBuilder b_;
  mlir::Location loc_;       ///< of the op that is lowered
  mlir::Value core_, cores_; ///< the running core's number and their count, of its role

private:
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerRole(device::RoleOp role);
  bool lowerOp(mlir::Operation *op);
  mlir::Value rankAlong(llvm::StringRef axis);
  mlir::Value rankAt(mlir::Value place, llvm::StringRef axis);
  mlir::Value numRanksAlong(llvm::StringRef axis);

  llvm::SmallVector<mlir::Operation *> erasedLater_; ///< when their users are gone
};

} // namespace ditron::lower
