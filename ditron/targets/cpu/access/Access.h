// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of views: where they lie, and reads and writes of their elements. An element is named by
// its indices in the view; lanes beyond the last dimension, and whole vectors beyond the others,
// are masked off.
#pragma once
#include "ditron/targets/cpu/VectorBuilder.h"
#include <optional>

namespace ditron::cpu {

/// What is known where a tile is walked: lanes are masked, or the tile lies within its view.
enum class Coverage { masked, whole };

/// A tile of a view, ready to be read or written element by element.
struct Access {
  mlir::Value memory;                   ///< one dimension of storage elements
  mlir::Value offset;                   ///< of element (0, 0, ...) of the view
  llvm::SmallVector<mlir::Value> sizes; ///< of the view
  llvm::SmallVector<mlir::Value> strides;
  llvm::SmallVector<mlir::Value> start; ///< element of the view where the tile starts
  mlir::Type element;
  bool unitStride = false; ///< of the last dimension
  /// Where the next iteration's tile starts, if known, and the offset of its view.
  llvm::SmallVector<mlir::Value> next;
  mlir::Value nextOffset;
  llvm::SmallVector<int64_t> shape; ///< of the tile
  mlir::Value padding;              ///< scalar of compute type; reads only
};

/// Several of them, which somebody else holds.
using Accesses = llvm::SmallVector<const Access *>;

/// The tile at `coords` of a view. `padding`: what is read beyond the view; null is 0.
Access accessOf(VectorBuilder &v, mlir::Value view, mlir::ValueRange coords,
                llvm::ArrayRef<int64_t> shape, mlir::TypedAttr padding = {});

//===-- Places --------------------------------------------------------------------------------===//

/// Element indices of the view at `at` of the tile.
At elementAt(VectorBuilder &v, const Access &access, const At &at);
/// The number of an element in the memory.
mlir::Value linear(VectorBuilder &v, const Access &access, const At &element);
/// Its address in bytes, and as a pointer.
mlir::Value addressOf(VectorBuilder &v, const Access &access, const At &element);
mlir::Value pointerTo(VectorBuilder &v, const Access &access, const At &element);
/// Brings the line that it lies in nearer; one outside of the view has no effect.
void prefetch(VectorBuilder &v, const Access &access, const At &element);
/// The tile, or that of the next iteration if it is known: the one that has `place` of a dimension of
/// the tile, counted from the start of this one. What is behind the last of the view is in the next.
Access tileAhead(VectorBuilder &v, const Access &access, size_t dimension, mlir::Value place);
/// The tile of the next iteration, which is known.
Access nextOf(const Access &access);

//===-- Bounds --------------------------------------------------------------------------------===//

/// Whether the leading elements lie in the view, and how many of `lanes` do.
std::pair<mlir::Value, mlir::Value> boundsOf(VectorBuilder &v, const Access &access,
                                             const At &element, int64_t lanes);
/// Whether the tile lies within its view; along dimension `openEnd` it may reach beyond the end.
mlir::Value isInside(VectorBuilder &v, const Access &access,
                     std::optional<int64_t> openEnd = std::nullopt);
/// Whether a walk over tiles of this shape is worth writing twice, with masks and without.
bool isSplit(VectorBuilder &v, llvm::ArrayRef<const Access *> tiles, llvm::ArrayRef<int64_t> shape);
/// Writes a walk over tiles of this shape twice: without masks for where all these tiles lie within
/// their views, with masks for where they do not. Once, with masks, where that is not worth it.
void whereWhole(VectorBuilder &v, llvm::ArrayRef<const Access *> tiles,
                llvm::ArrayRef<int64_t> shape, const std::function<void(Coverage)> &walk);
/// A walk over the rows of tiles of this shape, up to `end`.
struct RowWalk {
  Accesses tiles;
  llvm::ArrayRef<int64_t> shape;
  const Access *ending; ///< the one of these, if any, whose view has no rows from `end` on
  mlir::Value end;
  int64_t step, unit; ///< rows that are visited at a time, in units of which a step has several
};
/// Visits the rows without masks as far as all these tiles lie within their views, in whole units, and
/// the rest with masks: each time those from `row` on, up to a step of them, that are before `end`.
void forRows(VectorBuilder &v, const RowWalk &walk,
             const std::function<void(mlir::Value row, mlir::Value end, Coverage)> &visit);
/// Whether the views of two tiles, which are not empty, share no bytes.
mlir::Value areApart(VectorBuilder &v, const Access &a, const Access &b);

//===-- Reads and writes ----------------------------------------------------------------------===//

mlir::Value read(VectorBuilder &v, const Access &access, const At &element, int64_t lanes,
                 Coverage coverage);
/// The same as it is stored, with zeros beyond the view.
mlir::Value readStored(VectorBuilder &v, const Access &access, const At &element, int64_t lanes,
                       Coverage coverage);
void write(VectorBuilder &v, mlir::Value vector, const Access &access, const At &element,
           Coverage coverage);

/// Whether a whole tile may be stored past the caches: aligned, and of a large view. Null: never.
mlir::Value canStream(VectorBuilder &v, const Access &access, mlir::RankedTensorType tile);
/// Stores a whole, aligned vector past the caches, there or at an address in bytes. Later stores
/// may overtake it: the verbs of the runtime that release, and the end of the launch, wait for such
/// stores first.
void stream(VectorBuilder &v, mlir::Value vector, const Access &access, const At &element);
void streamTo(VectorBuilder &v, mlir::Value address, mlir::Value vector, mlir::Type element);

} // namespace ditron::cpu
