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

/// Elements of an extent that belong to no rank below `rank`, in equal parts of `size`, the last
/// ones smaller or empty: the part of this rank is view.slice(0, first, count).
struct Shard {
  Index first, count;
  Shard(Index rank, Index size, Index extent)
      : first(min(rank * size, extent)), count(min(size, extent - first)) {}
};

} // namespace ditron::kernels
