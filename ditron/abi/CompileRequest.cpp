// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/abi/CompileRequest.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron {

std::string CompileRequest::key() const {
  // A field that is added does not compile before it is named here.
  const auto &[target_, schedule_, unitStride_, alignment_, graphArguments_, mesh_, ranks_,
               recorded_, maps, stores, inGraph_, emit_] = *this;
  const auto &[warps, stages, ctasPerSm] = schedule_;
  auto digits = [](const std::vector<bool> &flags) {
    return fmt::format("{}", fmt::join(std::vector<int>(flags.begin(), flags.end()), ","));
  };
  std::vector<std::string> ofGraph;
  for (const auto &[isConstant, isLasting, isDense, extents] : graphArguments_)
    ofGraph.push_back(
        fmt::format("{:d}{:d}{:d}:{}", isConstant, isLasting, isDense, fmt::join(extents, "x")));
  return fmt::format("{} warps={} stages={} ctas_per_sm={} unit=[{}] aligned=[{}] of_graph=[{}] "
                     "mesh={} ranks={} recorded={} maps={} "
                     "stores={} graph={} emit={}",
                     target_, warps, stages, ctasPerSm, digits(unitStride_),
                     fmt::join(alignment_, ","), fmt::join(ofGraph, ","), mesh_, ranks_, recorded_,
                     maps, stores, inGraph_, int(emit_));
}

} // namespace ditron
