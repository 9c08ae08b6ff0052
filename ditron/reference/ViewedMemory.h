// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory and the windows through which it is seen.
//
// Whatever touches memory names a tile of a view: coordinates, in tiles for the last dimensions and
// in elements for the leading ones. The part of that tile that lies within the view is a view
// itself, its chunk; the rest is padding when read and dropped when written:
//
//     view of 5 x 7 in tiles of 4 x 4        tile (1, 1): the chunk is 1 x 3
//       +---------+-------+                    + x x x p
//       |  (0,0)  | (0,1) |                      p p p p        x  read from memory
//       +---------+-------+                      p p p p        p  padding
//       |  (1,0)  | (1,1) |                      p p p p
//       +---------+-------+
//
#pragma once
#include "ditron/reference/InterpretedValue.h"
#include <cstddef>
#include <string>

namespace ditron::reference {

struct SymmetricBuffer;

/// A piece of host memory that a kernel can touch.
struct Memory {
  std::string name;        ///< of the argument or symmetric buffer, for messages
  int64_t rank = 0;        ///< whose memory it is
  DType type = DType::f32; ///< of its elements
  std::byte *data = nullptr;
  bool readOnly = false;                ///< writing it is an error
  SymmetricBuffer *symmetric = nullptr; ///< the buffer that this is an instance of, or null
  std::vector<std::byte> owned;         ///< what `data` points to, unless it is borrowed
};

/// Row-major strides of a dense array.
Extents denseStrides(llvm::ArrayRef<int64_t> sizes);

//===-- Windows -------------------------------------------------------------------------------===//

/// The part of a tile of `shape` at `coords` that lies within the view, with the tile's number of
/// dimensions. Extent 0 where there is none.
View chunkOf(const View &view, llvm::ArrayRef<int64_t> coords, llvm::ArrayRef<int64_t> shape);

/// `sizes` elements from `offsets` on, `strides` apart; dimensions in `dropped` (which have size 1)
/// are left out. CompileError if that is not within the view.
View subview(const View &view, llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> sizes,
             llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<bool> dropped);

/// The view with dimension d cut into those of `groups[d]`, the dimensions of `sizes`. CompileError
/// if the extents do not multiply to the old ones.
View expandShape(const View &view, llvm::ArrayRef<llvm::SmallVector<int64_t, 2>> groups,
                 llvm::ArrayRef<int64_t> sizes);

/// Dimension d of the result is dimension `permutation[d]` of the view.
View transposed(const View &view, llvm::ArrayRef<int64_t> permutation);

//===-- Access --------------------------------------------------------------------------------===//

/// Reads a chunk into the corner of the tile at `origin` (in elements; all 0 unless given).
void readChunk(const View &chunk, Tile &tile, llvm::ArrayRef<int64_t> origin = {});
/// Writes a chunk from the corner of the tile. CompileError if the memory is read-only.
void writeChunk(const View &chunk, const Tile &tile, llvm::ArrayRef<int64_t> origin = {});
/// CompileError if the extents differ, or the destination is read-only.
void checkCopy(const View &source, const View &destination);
/// Copies all elements of a copy that checkCopy accepts.
void copyChunk(const View &source, const View &destination);

/// The element at `indices`. CompileError if it is not within the view.
Value loadElementOf(const View &view, llvm::ArrayRef<int64_t> indices);
void storeElementTo(const View &view, llvm::ArrayRef<int64_t> indices, const Value &value);

} // namespace ditron::reference
