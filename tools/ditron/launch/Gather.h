// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/runtime/Gather.h"

namespace ditron::tools {

using runtime::gather;

/// The element-wise largest of every rank's numbers, on every rank; collective.
inline std::vector<double> slowest(runtime::Rank &rank, const std::vector<double> &mine) {
  std::vector<double> result = mine;
  for (const std::vector<double> &other : gather(rank, mine))
    for (size_t n = 0; n < result.size(); ++n)
      result[n] = std::max(result[n], other[n]);
  return result;
}

} // namespace ditron::tools
