// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed tiles of symmetric memory that the producer loads: what other ranks have computed comes
// through the slots of the mainloop, while its last products are under way.
//
//   scf.for %t = ... {
//     %acc = scf.for %k ... { ... products of tiles in %pipe ... }
//     simt.wait %arrived ...
//     %part = tile.load %parts[%peer, %i, %j] {dist.packed = ...}
//     ... %acc + %part ...
//   }
// becomes, behind the products of the producer and of the consumer,
//   producer { ... simt.wait %arrived ...; nvidia.load_packed %parts[%peer, %i, %j] to %pipe in 2 }
//   consumer { ... %part = nvidia.receive_packed %parts[...] from %pipe in 2; ... }
//
// A packed tile is one run of memory in the order in which threads take it, so bulk copies bring it
// and no tensor map describes it. The kernel has one pipe, and what it loads so it does not store.
// test/targets/nvidia/packed-loads.mlir shows it.
#pragma once
#include "ditron/targets/nvidia/analysis/Roles.h"

namespace ditron::nvidia {

/// The parts of a packed tile that has layouts, each of which a slot has room for; 0: there are none.
int64_t partsOf(mlir::RankedTensorType tile, PipeType pipe, int64_t warps);

/// Loads in the consumer become what it receives.
void receivePacked(llvm::ArrayRef<core::LoadOp> loads, mlir::Value pipe, int64_t warps);

} // namespace ditron::nvidia
