// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernels are warp-specialised: a producer thread loads tiles into shared memory by TMA,
// consumer warpgroups multiply them and do all the rest.
#pragma once
#include "ditron/targets/nvidia/Chip.h"
#include "ditron/targets/nvidia/analysis/Guards.h"
#include "ditron/targets/nvidia/analysis/TensorCores.h"
#include "ditron/targets/nvidia/transforms/Passes.h"

namespace ditron::nvidia {

/// Marks loads of tiles that are read once, and their TMA loads: L2 gives these up before all else
/// (unit attribute).
inline constexpr llvm::StringLiteral kEvictFirstAttr = "nvidia.evict_first";

/// The tile as a pipe brings it: in whole panels, of which products read what is the tile's.
mlir::RankedTensorType inPanels(mlir::RankedTensorType tile);

/// A tile that the producer loads. Clipped: rows beyond its view, which lie in the argument all
/// the same, are to be made zero before products read them.
struct PipedTile {
  core::LoadOp load;
  bool isClipped;
};

/// The loads of a pipe: tiles that come in one slot, each time their block is executed.
struct PipeLoads {
  mlir::Block *block;
  llvm::SmallVector<PipedTile> tiles;  ///< as products have them
  llvm::SmallVector<core::DotOp> dots; ///< that read them, in program order
  /// The one that comes last: all views and coordinates are there by then.
  core::LoadOp last() const;
  /// Whether these stand in the block itself, not in loops within it.
  bool isInner() const;
};

struct RolePlan {
  mlir::Operation *first;             ///< of the function's block: from here on, roles differ
  llvm::SmallVector<PipeLoads> pipes; ///< in program order of their tiles
  int64_t warps;                      ///< that compute: whole warpgroups
  /// Ops that write memory which the producer loads, and barriers behind which others have: it loads behind
  /// them only when they are done.
  llvm::SmallVector<mlir::Operation *> writers = {};
  /// Packed tiles that come through the slots of the one pipe, behind its loop.
  llvm::SmallVector<core::LoadOp> packed = {};

  Guards guards(mlir::func::FuncOp function) const;
  /// Whether a product takes what another one has given, as in attention.
  bool chainsProducts() const;
};

/// Registers of a thread: a launch gives each as many, and where that is not enough, warps that do
/// not compute hand some over to those that do.
struct RoleRegisters {
  int64_t launched, computing, producing;
  bool areHanded() const { return computing > launched; }
};
/// What a producer needs: one that loads tiles, one that waits for others too, and one that walks through
/// the tasks of a graph. And what it gets where those that compute small tiles have enough: its numbers do not
/// spill then.
inline constexpr int64_t kRegistersOfLoads = 40, kRegistersOfWaits = 56, kRegistersOfTasks = 64;
inline constexpr int64_t kRegistersToSpare = 72, kRegistersOfSmallTiles = 200;
/// The registers of a CTA with `warps` consumer warps, and `idle` ones that wait for another region.
/// `few`: those of a producer.
RoleRegisters roleRegisters(const Chip &share, int64_t warps, int64_t few, int64_t idle = 0);

/// The first op of the function's block that computes tiles, constants aside, or that talks to other
/// CTAs; null if there is none.
mlir::Operation *firstOfRoles(mlir::func::FuncOp function);

/// Columns of the parts in which an fp8 product is computed beside its fp32 accumulator, a tile of
/// `rows` x `columns`, and promoted: as wide as registers allow; 0 where there are not enough.
int64_t promotedColumns(const Chip &share, int64_t warps, int64_t rows, int64_t columns);

/// The roles of a kernel of which every product is one that warpgroups compute from tiles that are
/// read from arguments (the left one may also be computed), and that writes none of these but by
/// copies of chunks, or by stores before it loads any of them. Waits that come before the loads of such tiles are the producer's too. Without
/// a value for other kernels and for chips that have no warpgroups. `warps`: that the schedule asks
/// for, or 0. `share`: what a CTA has of an SM.
std::optional<RolePlan> planRoles(mlir::func::FuncOp function, const Chip &share, int64_t warps);

} // namespace ditron::nvidia
