// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of symmetric memory that are packed: a tile takes one run of memory, whose order is that in
// which the threads of a CTA hold it. Of a tile of 128 x 256 bf16 in the accumulators of 8 warps,
// a thread has 128 elements, 16 runs of 16 bytes:
//
//   run 0 of threads 0 .. 255, run 1 of threads 0 .. 255, ... run 15
//
// So each access of a warp is 512 neighbouring bytes, no element changes its thread, and no tile is
// ragged. device/transforms/PackTiles.cpp says which tiles may be packed.
#pragma once
#include "ditron/targets/gpu/analysis/Tiles.h"
#include <map>

namespace ditron::gpu {

/// The tiles that are loaded or stored by accesses of one number of dist.packed. Of a function that
/// has not all of them, as regions of a kernel may, there are none.
using PackedTiles = std::map<int64_t, llvm::SmallVector<mlir::Value>>;
PackedTiles packedTiles(mlir::func::FuncOp function);

/// The number of a packed access: its dist.packed; none of other ops.
std::optional<int64_t> packedNumber(mlir::Operation *op);

/// Whether all threads hold elements of a tile of this layout, and no two the same ones.
bool canPack(const Layout &layout, mlir::RankedTensorType tile, Threads threads);

/// Neighbouring registers of a thread that one access takes: up to 16 bytes.
int64_t packedRun(const Layout &layout, int64_t elementBytes);

} // namespace ditron::gpu
