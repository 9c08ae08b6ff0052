// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles in the scratch memory of a core.
#pragma once
#include "ditron/targets/cpu/VectorBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace ditron::cpu {

/// Memory of one core for tiles, given out in a stack's order and known in size when the kernel is
/// compiled.
class Scratch {
public:
  /// Buffers of a page or more begin half-way into one. Rows of views often begin with a page, and
  /// a load that follows a store to the same place in another page waits for it.
  int64_t allocate(int64_t bytes) {
    int64_t offset = bytes < kPage ? used_ : (used_ + kPage - 1) / kPage * kPage + kPage / 2;
    used_ = offset + (bytes + 63) / 64 * 64;
    peak_ = std::max(peak_, used_);
    return offset;
  }
  int64_t mark() const { return used_; }
  void release(int64_t mark) { used_ = mark; }
  int64_t peak() const { return peak_; }

private:
  static constexpr int64_t kPage = 4096;
  int64_t used_ = 0, peak_ = 0;
};

/// Tiles, and a buffer for each: walked in the order in which they were added, so that the code is
/// the same on every run.
using BufferMap = llvm::MapVector<mlir::Value, mlir::Value>;

/// Which tiles have been materialised, and where.
class TileBuffers {
public:
  /// `arena`: the core's scratch memory, memref<?xi8>.
  TileBuffers(VectorBuilder &v, mlir::Value arena) : v_(v), arena_(arena) {}

  /// The buffer of a tile; null: it has none.
  mlir::Value lookup(mlir::Value tile) const { return buffers_.lookup(tile); }
  bool has(mlir::Value tile) const { return buffers_.count(tile); }
  void bind(mlir::Value tile, mlir::Value buffer) { buffers_[tile] = buffer; }
  /// Writes `body` with the tiles in these buffers.
  void with(const BufferMap &buffers, const std::function<void()> &body);

  /// Where a tile is to be computed; null: anywhere.
  mlir::Value destination(mlir::Value tile) const { return destinations_.lookup(tile); }
  void setDestination(mlir::Value tile, mlir::Value buffer) { destinations_[tile] = buffer; }

  /// A buffer of scratch memory for elements of `compute` type, or for a tile.
  mlir::Value allocate(llvm::ArrayRef<int64_t> shape, mlir::Type compute);
  mlir::Value allocate(mlir::RankedTensorType tile);
  /// A buffer once more, at the insertion point, which may be where the buffer is not seen.
  mlir::Value again(mlir::Value buffer);
  Scratch &scratch() { return scratch_; }

private:
  VectorBuilder &v_;
  mlir::Value arena_;
  Scratch scratch_;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers_, destinations_;
};

} // namespace ditron::cpu
