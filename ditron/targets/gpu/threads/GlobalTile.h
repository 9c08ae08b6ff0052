// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile of a view in global memory, as this thread reaches its elements.
#pragma once
#include "ditron/targets/gpu/threads/ThreadLowering.h"

namespace ditron::gpu {

class GlobalTile {
public:
  /// `coords` as in tile.load, of the tile that `places` deals to the threads.
  GlobalTile(ThreadBuilder &t, mlir::Value view, mlir::ValueRange coords,
             const Distribution &places);

  mlir::Type element;
  int64_t bytes;      ///< of an element in memory
  bool hasUnitStride; ///< of the last dimension
  /// Instead of the tile's own rows, for each register, those of the view: i32. Empty: not so.
  llvm::SmallVector<mlir::Value> rows;

  /// The address (i64) of a register's element, and whether it lies in the view. The same for the
  /// run of registers that begins there, where isWide holds.
  std::pair<mlir::Value, mlir::Value> at(ThreadBuilder &t, int64_t reg);
  /// How many elements of the view, at most `run`, lie in a row from the register's on: i32.
  mlir::Value countFrom(ThreadBuilder &t, int64_t reg, int64_t run);
  /// The address (i64) of the element at a row and a column (i32) of a tile of two dimensions, and
  /// how many elements of the view, at most `run`, lie in the row from there on: i32.
  std::pair<mlir::Value, mlir::Value> from(ThreadBuilder &t, mlir::Value row, mlir::Value column,
                                           int64_t run);
  /// Whether all that is behind a coordinate of a dimension, as wide as the tile, lies behind one another for all of the
  /// dimension's: for 0, whether the tile is in one piece.
  mlir::Value isDenseFrom(ThreadBuilder &t, size_t dim) const;
  /// The address (i64) of the first element that has this first coordinate (i32), and how many elements of the view have
  /// it: i32.
  std::pair<mlir::Value, mlir::Value> slice(ThreadBuilder &t, mlir::Value first) const;
  /// How many elements of the tile lie in the view, and whether all do: i32, i1.
  mlir::Value elementsLeft(ThreadBuilder &t) const;
  mlir::Value isWhole(ThreadBuilder &t) const;
  /// How many of the tile's rows lie in the view: i32.
  mlir::Value rowsLeft() const { return left_[0]; }
  /// Whether runs of `run` elements are aligned, and none lies partly in the view.
  mlir::Value isWide(ThreadBuilder &t, int64_t run, bool partly = false);
  /// A run of neighbours of the tile, by its number in row-major order, `number` + `more`.
  struct Piece {
    mlir::Value exists;  ///< whether the tile has such a run: i1
    mlir::Value address; ///< of the first: i64
    mlir::Value place;   ///< of the first in a tile that is laid out as `memory`: i32
    mlir::Value count;   ///< how many lie in the view: i32
  };
  Piece piece(ThreadBuilder &t, mlir::Value number, int64_t more, int64_t run,
              const Layout &memory);

private:
  using Value = mlir::Value;
  Value coordinate(ThreadBuilder &t, size_t dim, int64_t reg);
  Value insideOf(ThreadBuilder &t, int64_t reg, bool withLast);
  Value locate(ThreadBuilder &t, Value view, mlir::ValueRange coords);
  Value locateNarrow(ThreadBuilder &t, Value view, mlir::ValueRange coords);

  const Distribution &places_;
  Value origin_;                     ///< address of the tile's first element: i64
  llvm::SmallVector<Value> strides_; ///< in bytes, of the tile's dimensions: i64
  llvm::SmallVector<Value>
      left_; ///< elements of the view from the tile's first on, at most the tile's: i32
  llvm::SmallVector<Value> thread_; ///< what this thread adds to coordinates: i32
  Value threadOffset_;              ///< and to the address: i64
  Value width_;                     ///< extent of the view's last dimension: index
  Value viewRows_; ///< extent of the view's second last dimension: i32, at most 2^31-1
};

/// Copies a tile of a view into shared memory, asynchronously where its rows are aligned: done
/// after the wait for the group that this thread commits next. Elements beyond the view are
/// `padding`.
void copyToShared(ThreadBuilder &t, mlir::Value view, mlir::ValueRange coords,
                  mlir::RankedTensorType tile, const llvm::APInt &padding, mlir::Value base);

} // namespace ditron::gpu
