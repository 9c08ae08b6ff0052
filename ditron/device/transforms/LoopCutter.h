// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts loops along a dimension of which every rank has an equal part, a *shard*.
//
//     dist.tiles (%i, %j) of (ceildiv(M, 128), %columns) {
//       load %A[%i, %k]
//     }
//  ->
//     dist.tiles (%s, %i, %j) of (%ranks, ceildiv(%shard, 128), %columns) {
//       load %A of shard %s [%i, %k]
//     }
//
// Tiles do not straddle shards, so what a tile needs comes from one rank.
//
#pragma once
#include "ditron/device/transforms/ShardedLoops.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace ditron::device {

/// An argument as the ranks have it: dimension `at` counts the shards.
struct Sharded {
  mlir::Value buffer;
  int64_t at = 0;
  mlir::Value own = {};      ///< where the shard of this rank lies instead, if not null
  mlir::Value ownShard = {}; ///< its number, with `own`
};

/// Shard number `shard` of `whole.buffer`.
mlir::Value shardOf(mlir::OpBuilder &builder, mlir::Location where, const Sharded &whole,
                    mlir::Value shard);

/// The ranks that have the shards: all of them, or those along an axis of the mesh.
struct ShardRing {
  mlir::Value rank, ranks; ///< the shard to begin with, this rank's place, and their number
  llvm::StringRef axis = MeshAxis::world;
};

/// Cuts loops.
class LoopCutter {
public:
  /// A shard of `extent` elements for each rank of `ring`; all dominate the loops.
  LoopCutter(const ShardRing &ring, mlir::Value extent) : ring_(ring), extent_(extent) {}

  /// From here on accesses to `argument` go to shards of `whole`. Other arguments are the part of
  /// one shard already: accesses to them stay.
  void redirect(mlir::BlockArgument argument, Sharded whole) { whole_[argument] = whole; }

  struct Cut {
    mlir::Value shard, tile; ///< which one: values at `start`
    mlir::Block *block;
    mlir::Block::iterator start; ///< where the body begins
    mlir::Value isVisited = {};  ///< whether the shard has elements of the window; null: it does
  };
  /// A loop over tiles, with the shards in the order of that name (device/Order.h).
  Cut cutTiles(ShardedLoop &loop, mlir::StringRef order);
  /// A sweep: the own shard first, then the next ranks'. `start` is before the loop over the
  /// tiles of the shard.
  Cut cutSweep(ShardedLoop &loop);

private:
  /// The elements of a shard in a window: `first` counts from the window's begin, the others from
  /// the shard's. `size`: of the window.
  struct WindowPart {
    mlir::Value first, offset, count, size;
  };
  WindowPart partOfWindow(mlir::ImplicitLocOpBuilder &builder, const ShardedLoop &loop,
                          mlir::Value shard, mlir::Value steps);
  void cutWindow(ShardedLoop &loop, mlir::Value shard, Cut &cut);

  /// A shard, and what a window has of it; null: all.
  struct Part {
    mlir::Value shard;
    const WindowPart *window;
  };
  mlir::Value viewOf(mlir::OpBuilder &builder, const ShardedLoop::Use &use, const Part &of,
                     llvm::DenseSet<mlir::Operation *> &users);
  void redirectUses(ShardedLoop &loop, mlir::Value shard, const WindowPart *part = nullptr);
  void countElements(ShardedLoop &loop, mlir::Value shard, const WindowPart *window,
                     const llvm::DenseSet<mlir::Operation *> &users);

  ShardRing ring_;
  mlir::Value extent_;
  llvm::DenseMap<mlir::Value, Sharded> whole_;
};

/// The argument, whose dimension `dim` has `ranks` times `extent` elements, with these as two.
Sharded splitArgument(mlir::OpBuilder &builder, mlir::BlockArgument argument, int64_t dim,
                      mlir::Value ranks, mlir::Value extent);

/// The order of a loop over tiles of all shards, and the shard of its leading coordinate `visit`:
/// orders of that name know the place in the whole mesh, and along an axis the shard is computed.
mlir::StringRef orderOver(const ShardRing &ring, mlir::StringRef order);
mlir::Value shardAt(mlir::OpBuilder &builder, mlir::Location where, const ShardRing &ring,
                    mlir::StringRef order, mlir::Value visit);

/// Along an axis, ends a launch where dimension `dim` of `argument` is not a shard of `extent`
/// elements for each rank of `ring`; for all ranks the signature says so.
void requireParts(mlir::OpBuilder &builder, mlir::BlockArgument argument, int64_t dim,
                  const ShardRing &ring, mlir::Value extent);

/// A loop over the tiles of all shards, and the shard that it is at.
struct ShardedTiles {
  TilesOp tiles;
  mlir::Value shard;
};
/// A new loop over tiles in place of `tiles`, with the shards as the leading extent; its body is
/// that of `tiles`, which is erased. Extents of null stay. Orders of all ranks visit the rows in `rounds` rounds.
ShardedTiles withShards(TilesOp tiles, const ShardRing &ring, llvm::ArrayRef<mlir::Value> extents,
                        mlir::Value elements, mlir::StringRef order, int64_t rounds = 1);

} // namespace ditron::device
