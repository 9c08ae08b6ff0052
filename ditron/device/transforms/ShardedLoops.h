// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops along a dimension of which every rank has an equal part, a *shard*.
//
// The dimension is named: arguments whose extents the signature gives that name share it. A loop
// that walks over it takes one tile of it at a time, and can be cut into a loop over shards and one
// over the tiles of a shard (LoopCutter.h). Used by dist-place-arguments and dist-place-results.
//
#pragma once
#include "ditron/device/TileAccess.h"
#include "ditron/device/transforms/SweepWindow.h"

namespace ditron::device {

/// The dimension that is cut, for the search and its messages.
struct ShardedExtent {
  mlir::StringRef name;      ///< as the signature has it: "M"
  mlir::StringRef placement; ///< as messages have it: "'A' is gathered along M"
};

/// A loop over tiles of the dimension, in order of the tiles: of all of it, or of a window.
struct ShardedLoop {
  /// An access to one tile of the dimension.
  struct Use {
    mlir::Operation *op;        ///< tile.load, tile.store or tile.atomic_add
    mlir::Value view;           ///< what it names
    mlir::BlockArgument buffer; ///< the kernel's argument behind it
    int64_t dim;                ///< of the buffer
  };
  mlir::Operation *loop = nullptr; ///< dist.tiles, or the scf.for of a sweep
  unsigned variable = 0;           ///< the coordinate of dist.tiles
  int64_t size = 0;                ///< elements of a tile
  llvm::SmallVector<Use> uses = {};
  /// Of a sweep that walks over a part of the dimension, or asks where its tiles are.
  std::optional<SweepWindow> window = {};

  bool isSweep() const { return mlir::isa<mlir::scf::ForOp>(loop); }
  /// What counts the tiles.
  mlir::BlockArgument counter() const;
  /// Whether an op uses the counter to name tiles of the dimension, and for nothing else.
  bool isOfTiles(mlir::Operation *user) const;
};

/// What a slice or transposed view is made of.
mlir::Value sourceOf(mlir::Value view);
/// The dimensions of an argument that have this name.
llvm::SmallVector<int64_t> dimsNamed(mlir::BlockArgument argument, mlir::StringRef name);

/// The coordinate of dist.tiles that counts the tiles of `size` elements from the begin of a
/// dimension, at which a coordinate of an access is; none if it is elsewhere.
std::optional<unsigned> tileCoordinate(const Access &access, const Coordinate &at, int64_t size);
/// Whether coordinate `variable` of a grid has as many tiles of `size` elements as dimension `dim`
/// of `argument`.
bool coversDimension(TilesOp tiles, unsigned variable, mlir::BlockArgument argument, int64_t dim,
                     int64_t size);

/// The loops behind all accesses to arguments with the dimension. Fails with
/// an error at the access or the loop where one of them is no tile of the dimension, or the loop
/// cannot be cut.
mlir::FailureOr<llvm::SmallVector<ShardedLoop>> findShardedLoops(mlir::func::FuncOp kernel,
                                                                 const ShardedExtent &extent);

} // namespace ditron::device
