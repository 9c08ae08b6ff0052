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
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace ditron::device {

/// An argument as the ranks have it: dimension `at` counts the shards.
struct Sharded {
  mlir::Value buffer;
  int64_t at = 0;
  mlir::Value own = {}; ///< where the shard of this rank lies instead, if not null
};

/// Shard number `shard` of `whole.buffer`.
mlir::Value shardOf(mlir::OpBuilder &builder, mlir::Location where, const Sharded &whole,
                    mlir::Value shard);

/// Cuts loops.
class LoopCutter {
public:
  /// `ranks` shards of `extent` elements, of which `rank` is this one's; all dominate the loops.
  LoopCutter(mlir::Value rank, mlir::Value ranks, mlir::Value extent)
      : rank_(rank), ranks_(ranks), extent_(extent) {}

  /// From here on accesses to `argument` go to shards of `whole`. Other arguments are the part of
  /// one shard already: accesses to them stay.
  void redirect(mlir::BlockArgument argument, Sharded whole) { whole_[argument] = whole; }

  struct Cut {
    mlir::Value shard, tile; ///< which one: values at `start`
    mlir::Block *block;
    mlir::Block::iterator start; ///< where the body begins
  };
  /// A loop over tiles, with the shards in the order of that name (device/Order.h).
  Cut cutTiles(ShardedLoop &loop, mlir::StringRef order);
  /// A sweep: the own shard first, then the next ranks'. `start` is before the loop over the
  /// tiles of the shard.
  Cut cutSweep(ShardedLoop &loop);

private:
  void redirectUses(ShardedLoop &loop, mlir::Value shard);
  void countElements(ShardedLoop &loop, mlir::Value shard,
                     const llvm::DenseSet<mlir::Operation *> &users);

  mlir::Value partOf(mlir::OpBuilder &builder, mlir::Location where, const Sharded &whole,
                     mlir::Value shard);

  mlir::Value rank_, ranks_, extent_;
  llvm::DenseMap<mlir::Value, Sharded> whole_;
};

/// The argument, whose dimension `dim` has `ranks` times `extent` elements, with these as two.
Sharded splitArgument(mlir::OpBuilder &builder, mlir::BlockArgument argument, int64_t dim,
                      mlir::Value ranks, mlir::Value extent);

/// A new loop over tiles in place of `tiles`, with `shards` as the leading extent; its body is that
/// of `tiles`, which is erased. Extents of null stay.
TilesOp withShards(TilesOp tiles, mlir::Value shards, llvm::ArrayRef<mlir::Value> extents,
                   mlir::Value elements, mlir::StringRef order);

} // namespace ditron::device
