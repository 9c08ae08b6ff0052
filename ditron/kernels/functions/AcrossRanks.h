// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device functions of kernels that several ranks run together.
#pragma once
#include "ditron/kernels/functions/ElementTypes.h"
#include <array>

namespace ditron::kernels {

/// The sum over the ranks, in their order, of tile (i, j) of `parts`, whose leading dimension
/// counts them.
template <class T, Access access>
Tile sumOverRanks(const Tiled<T, 3, 2, access> &parts, Index i, Index j) {
  Var total = zeros<Accumulator<T>>(parts.height(), parts.width());
  for (auto r : range(numRanks()))
    total += cast<Accumulator<T>>(parts(r, i, j));
  return total;
}

/// The same of tiles that lie on the ranks: from(r) is rank r's, fetched into `incoming`.
template <class T, Access access>
Tile fetchSum(const auto &from, const TileRef<T, access> &incoming) {
  Var total = zeros<T>(static_cast<int>(incoming.shape[0]), static_cast<int>(incoming.shape[1]));
  for (auto r : range(numRanks())) {
    get(from(r), incoming);
    total += incoming;
  }
  return total;
}

/// Roles of `commCores` cores and of the rest; with 0, both are all cores: one role after the
/// other.
inline std::array<Role, 2> splitRoles(int commCores) {
  if (commCores > 0)
    return splitCores(commCores);
  return {Role(0, numCores()), Role(0, numCores())};
}

/// Rows of tiles of a shard, cut into chunks that copy engines move one by one; the last one may
/// have fewer rows.
class RowChunks {
public:
  /// Of a shard of `rows` rows, in tiles of `height`.
  RowChunks(Index rows, int height, int count)
      : rows_(rows), height_(height), tiles_(ceilDiv(rows, height)), size_(ceilDiv(tiles_, count)),
        count_(count) {}

  /// How many there can be, and how many have rows.
  int most() const { return count_; }
  Index count() const { return ceilDiv(tiles_, size_); }
  /// The chunk of a row of tiles.
  Index of(Index i) const { return i / size_; }
  /// Rows of tiles in a chunk.
  Index tiles(Index chunk) const { return max(min(size_, tiles_ - chunk * size_), 0); }
  /// Its first row, and how many it has: view.slice(0, first(q), rows(q)).
  Index first(Index chunk) const { return min(chunk * size_ * height_, rows_); }
  Index rows(Index chunk) const { return min(size_ * height_, rows_ - first(chunk)); }

private:
  Index rows_;
  int height_;
  Index tiles_, size_;
  int count_;
};

/// Elements of an extent that belong to no rank below `rank`, in equal parts of `size`, the last
/// ones smaller or empty: the part of this rank is view.slice(0, first, count).
struct Shard {
  Index first, count;
  Shard(Index rank, Index size, Index extent)
      : first(min(rank * size, extent)), count(min(size, extent - first)) {}
};

} // namespace ditron::kernels
