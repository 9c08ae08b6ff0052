// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How threads wait for the packets of tiles in inboxes.
#pragma once
#include "ditron/targets/gpu/ops/SimtOps.h"

namespace ditron::gpu {

/// Packets of a tile that a thread holds.
int64_t packetsOfThread(mlir::RankedTensorType tile);

/// Whether a thread each waits for the packets of tiles, in the kernel of `op`, and all get them through shared
/// memory: where several threads hold the same elements. If all of them looked for them, those that write the
/// packets would wait for their looks.
bool areSpread(mlir::Operation *op, llvm::ArrayRef<mlir::RankedTensorType> tiles);

/// Threads that wait for a tile: its packets, rounded up to a power of two.
int64_t threadsFor(mlir::RankedTensorType tile);

} // namespace ditron::gpu
