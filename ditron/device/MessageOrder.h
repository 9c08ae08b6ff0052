// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What messages order beside the tiles that they bring.
//
// A send is a release and a receive an acquire. Some core has to rely on that only where a sender, before it
// sends, has touched memory that cores hand on, or has itself acquired what another one did. Of
//
//   for part in ... { send(given(part), box.on(peer)(part)) }
//   for part in ... { gathered(part) = receive(box(part)); notify(there) }
//   wait(there, parts); ... sum = f(gathered(...)); send(sum, fragments.on(rank())(n)) ...
//
// the first messages order nothing, and the last ones the cores of one rank.
#pragma once
#include "ditron/device/DistOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace ditron::device {

class MessageOrder {
public:
  /// Of a kernel's function, whose verbs must be there for as long as anything is asked.
  explicit MessageOrder(mlir::func::FuncOp function);

  /// How far a send or a receive orders memory: `core` where nobody can rely on it, `device` where
  /// the message stays in a rank, else `network`.
  Scope scopeOf(mlir::Operation *verb) const;

private:
  void findMemory(mlir::func::FuncOp function);
  bool hasPast(SendOp send) const;

  llvm::DenseSet<mlir::Value> handedOn_; ///< memory that is both read and written
  llvm::DenseSet<mlir::Value> ordering_; ///< inboxes, some message of which has something to order
  llvm::SmallVector<mlir::Operation *> past_; ///< what gives messages behind it something to order
  llvm::SmallVector<SendOp> sends_;
};

} // namespace ditron::device
