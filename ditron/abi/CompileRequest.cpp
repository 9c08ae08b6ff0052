// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/abi/CompileRequest.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron {

std::string CompileRequest::key() const {
  // A field that is added does not compile before it is named here.
  const auto &[target_, schedule_, unitStride_, alignment_, constants_, lasting_, extents_, dense_,
               mesh_, ranks_, recorded_, maps, stores, inGraph_, emit_] = *this;
  const auto &[warps, stages, ctasPerSm] = schedule_;
  auto digits = [](const std::vector<bool> &flags) {
    return fmt::format("{}", fmt::join(std::vector<int>(flags.begin(), flags.end()), ","));
  };
  std::vector<std::string> shapes;
  for (const std::vector<int64_t> &shape : extents_)
    shapes.push_back(fmt::format("{}", fmt::join(shape, "x")));
  return fmt::format(
      "{} warps={} stages={} ctas_per_sm={} unit=[{}] aligned=[{}] constants=[{}] lasting=[{}] "
      "extents=[{}] dense=[{}] mesh={} ranks={} recorded={} maps={} "
      "stores={} graph={} emit={}",
      target_, warps, stages, ctasPerSm, digits(unitStride_), fmt::join(alignment_, ","),
      digits(constants_), digits(lasting_), fmt::join(shapes, ","), digits(dense_), mesh_, ranks_,
      recorded_, maps, stores, inGraph_, int(emit_));
}

} // namespace ditron
