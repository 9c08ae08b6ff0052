// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A packed tile (analysis/PackedTiles.h), as its threads reach it in memory.
#pragma once
#include "ditron/targets/gpu/analysis/PackedTiles.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"

namespace ditron::gpu {

/// Where a packed tile lies.
struct PackedPlace {
  mlir::Value address;  ///< of its first byte: i64
  mlir::Value isInside; ///< whether the view has such a tile: i1
};

/// `coords` as in tile.load, of a view of whole tiles.
PackedPlace placeOf(ThreadBuilder &t, mlir::RankedTensorType tile, mlir::Value view,
                    mlir::ValueRange coords);

/// The runs that this thread has of a packed tile.
class PackedTile {
public:
  using Value = mlir::Value;
  PackedTile(ThreadBuilder &t, mlir::RankedTensorType tile);

  int64_t runs() const { return registers_ / run_; }
  int64_t bytesOfRun() const { return run_ * bytes_; }
  /// Bytes from the tile's first to those of a run: i64.
  Value offset(int64_t run);
  /// The words of a run, all zero.
  llvm::SmallVector<Value> zeros();
  /// The words of all runs as registers, and back.
  Value loaded(llvm::ArrayRef<Value> words);
  llvm::SmallVector<Value> stored(Value vector);
  llvm::ArrayRef<Value> wordsOf(llvm::ArrayRef<Value> words, int64_t run) const {
    return words.slice(static_cast<size_t>(run) * wordsOfRun(), wordsOfRun());
  }

private:
  size_t wordsOfRun() const {
    return static_cast<size_t>(8 * bytesOfRun() / word_.getIntOrFloatBitWidth());
  }

  ThreadBuilder &t_;
  mlir::RankedTensorType tile_;
  int64_t registers_, bytes_, run_; ///< bytes: of an element; run: elements
  mlir::Type word_;
  Value thread_;
};

} // namespace ditron::gpu
