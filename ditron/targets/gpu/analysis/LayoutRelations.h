// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the layouts of an op's operands and results hang together.
#pragma once
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Tiles.h"

namespace ditron::gpu {

/// Elements of an access of `bytes` bytes.
int64_t elementsOfAccess(mlir::RankedTensorType tile, int64_t bytes = kAccessBytes);

/// Registers of a thread; INT64_MAX of a layout that is none of registers.
int64_t registersOf(mlir::RankedTensorType tile, const Layout &layout);

std::optional<Layout> transposed(const Layout &layout, mlir::RankedTensorType tile,
                                 llvm::ArrayRef<int64_t> permutation);
llvm::SmallVector<int64_t> inverse(llvm::ArrayRef<int64_t> permutation);

/// The layout that the source of a broadcast has, given its result's.
std::optional<Layout> broadcastSource(core::BroadcastOp op, std::optional<Layout> layout);

/// Each thread holds whole groups of packets, neighbouring lanes neighbouring ones.
Layout inGroups(mlir::RankedTensorType tile, Threads threads);
/// Whether each thread holds whole groups of packets.
bool isInGroups(mlir::RankedTensorType tile);

/// Whether warps meet to combine the elements of a tile along an axis. Then each thread can collect any elements of the
/// result.
bool meetFor(mlir::RankedTensorType source, const Layout &layout, int64_t axis);

} // namespace ditron::gpu
