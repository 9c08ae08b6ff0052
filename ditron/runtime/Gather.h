// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/runtime/Rank.h"
#include <algorithm>
#include <type_traits>
#include <vector>

namespace ditron::runtime {

/// What every rank brings, by rank, on every rank; through symmetric memory. Collective: all ranks
/// bring equally many. Those that come late from other work are waited for.
template <class T> std::vector<std::vector<T>> gather(Rank &rank, const std::vector<T> &mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  rank.assemble();
  size_t bytes = mine.size() * sizeof(T);
  void *memory = rank.heap().allocate(std::max<size_t>(bytes, 1), 64, "gather");
  std::ranges::copy(mine, static_cast<T *>(memory));
  rank.barrier();
  std::vector<std::vector<T>> all;
  for (int peer = 0; peer < rank.size(); ++peer) {
    const T *theirs = rank.heap().peer(static_cast<T *>(memory), peer);
    all.emplace_back(theirs, theirs + mine.size());
  }
  rank.barrier();
  rank.heap().free(memory);
  return all;
}

/// The element-wise largest of every rank's numbers, on every rank; collective.
inline std::vector<double> slowest(Rank &rank, const std::vector<double> &mine) {
  std::vector<double> result = mine;
  for (const std::vector<double> &other : gather(rank, mine))
    for (size_t n = 0; n < result.size(); ++n)
      result[n] = std::max(result[n], other[n]);
  return result;
}

} // namespace ditron::runtime
