// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tiles a persistent kernel streams: long rows of weights, say, that a producer thread copies into a ring
// of shared memory long before a task asks for them.
#pragma once
#include "ditron/core/TileOps.h"
#include "ditron/targets/nvidia/Chip.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ditron::nvidia {

/// Of a kernel whose cores are exactly those of a schedule, loads of tiles that a loop adds up element by
/// element, or multiplies in slices: of long rows of arguments that nobody writes, at places that the
/// producer can find. Empty where the chip has no such copies.
llvm::SmallVector<core::LoadOp> streamedLoads(mlir::func::FuncOp function, const Chip &chip);

/// Loads of tiles of caches, whose rows were mostly there before the launch, at places that the producer can find, to ask
/// L2 for. Empty where they are more than 32 KB: that would be in front of weights that are needed sooner.
llvm::SmallVector<core::LoadOp> cacheLoads(mlir::func::FuncOp function);

/// Loads of tiles of caches, with short rows as pages of keys have them, that fit into a slot: of what was there before
/// the launch, at places that the producer can find.
llvm::SmallVector<core::LoadOp> pageLoads(mlir::func::FuncOp function, int64_t slotBytes);
/// Whether rows of a tile of two dimensions are too short for a copy each. A slot has them row-major then.
bool hasShortRows(mlir::RankedTensorType tile);

/// A matrix that blocks were put together to, in whatever steps, of numbers of whatever type; the tile itself where it is one.
mlir::Value inShape(mlir::Value tile);
/// The load of what products by the tile of a streamed load are multiplied by, as scales of blocks are: it comes behind that
/// tile, in the same slots. Null where there is none.
core::LoadOp scalesOf(core::LoadOp load);
/// The byte of a slot where scales begin, behind a tile.
int64_t placeOfScales(core::LoadOp load);

/// Where a slot of the ring has the rows of a tile, in elements; blocks as memory has them.
core::Layout slotLayout(mlir::RankedTensorType tile);
/// Bytes of the slot that it takes.
int64_t slotBytes(mlir::RankedTensorType tile);
/// The same of each coordinate of the first dimension, where a tile takes a slot for each of these: registers of all
/// threads have them one after the other. 0: it does not.
int64_t slotBytesOfSlice(mlir::RankedTensorType tile);

} // namespace ditron::nvidia
