// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/abi/CompileRequest.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron {

std::string CompileRequest::key() const {
  // A field that is added does not compile before it is named here.
  const auto &[target_, schedule_, unitStride_, alignment_, constants_, mesh_, ranks_, recorded_,
               maps, stores, inGraph_, emit_] = *this;
  const auto &[warps, stages, ctasPerSm] = schedule_;
  return fmt::format("{} warps={} stages={} ctas_per_sm={} unit=[{}] aligned=[{}] constants=[{}] "
                     "mesh={} ranks={} recorded={} maps={} "
                     "stores={} graph={} emit={}",
                     target_, warps, stages, ctasPerSm,
                     fmt::join(std::vector<int>(unitStride_.begin(), unitStride_.end()), ","),
                     fmt::join(alignment_, ","),
                     fmt::join(std::vector<int>(constants_.begin(), constants_.end()), ","), mesh_,
                     ranks_, recorded_, maps, stores, inGraph_, int(emit_));
}

} // namespace ditron
