// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notifies of the consumer are made by another thread, the notifier.
//
//   consumer {
//     scf.for %t = ... {
//       ... products ...
//       tile.store %x, %staged[...]
//       simt.notify %cell "add" %n scope "sys"
//     }
//     simt.end
//   }
// becomes
//   consumer {
//     scf.for %t = ... {
//       ... products ...
//       tile.store %x, %staged[...]
//       nvidia.post %outbox, %cell, %n
//     }
//     nvidia.flush %outbox
//     simt.end
//     nvidia.close %outbox
//   } notifier {
//     nvidia.notify_posts %outbox in "sys"
//   }
//
// Where the consumer stores a packed tile here, once (`dist.once`), and then to a peer, a warp is the
// notifier, and copies it: the store to the peer becomes
//
//   nvidia.post_move %outbox, %staged[...] to %theirs[...]
//
// What the kernel sends before it computes (Sends.h) is the notifier's from the beginning, which is a warp
// then, too:
//
//     scf.for ... { simt.move %A... to %theirs...; simt.notify %cell "add" %n scope "sys" }
//   becomes in the notifier, in front of nvidia.notify_posts
//     scf.for ... { nvidia.warp_move %A... to %theirs...; nvidia.warp_notify %cell add %n in "sys" }
//
// The consumer begins with nvidia.post_mark then, so that what releases waits for these, too.
//
// A release takes until all that came before it is done everywhere, a microsecond or more after the
// stores of a tile. Meanwhile the consumer multiplies the next tile. Notifies are made in the order
// in which they are posted, and at once, so no wait depends on when the consumer comes by. Whatever
// else releases in the consumer waits for them: nvidia.flush.
// test/targets/nvidia/defer-notifies.mlir shows it.
#pragma once
#include "ditron/targets/nvidia/ops/NvidiaOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ditron::nvidia {

/// Posts in a row that may be copies of one tile, to several ranks: what the outbox has slots for.
inline constexpr int64_t kMostCopies = 8;

/// Shared memory of the outbox that a kernel is to have; 0: its notifies stay where they are, as
/// there are none that add, the kernel may end before its end, or is a region.
/// `first`: see RolePlan.
int64_t outboxBytes(mlir::func::FuncOp function, mlir::Operation *first);

/// Makes the outbox at `b`, and has the notifier make the notifies of the consumer.
void deferNotifies(RolesOp roles, mlir::ImplicitLocOpBuilder &b);

} // namespace ditron::nvidia
