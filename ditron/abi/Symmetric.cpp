// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/abi/Symmetric.h"
#include "ditron/support/Error.h"
#include "ditron/support/Sizes.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron::abi {

int64_t SymmetricArray::elements() const {
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  return count;
}

std::vector<int64_t> denseStrides(const std::vector<int64_t> &extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t dim = extents.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * extents[dim];
  return strides;
}

/// CompileError unless an array of these extents could be in some memory.
static void checkShape(const SymmetricArray &array) {
  constexpr int64_t kMost = int64_t(1) << 46; // elements
  std::optional<int64_t> count = checkedProduct(array.extents);
  if (!count || *count > kMost)
    throw CompileError(fmt::format("symmetric '{}' has shape [{}], expected extents of 0 or more "
                                   "and at most {} elements",
                                   array.name, fmt::join(array.extents, ", "), kMost));
}

std::vector<SymmetricArray> symmetricAt(const KernelInfo &info, const LaunchValues &launch) {
  std::vector<SymmetricArray> arrays;
  for (const Symmetric &one : info.symmetric) {
    SymmetricArray array{one.name, one.kind, one.elementBytes};
    for (const Extent &extent : one.extents)
      array.extents.push_back(extent.evaluate(launch, fmt::format("symmetric '{}'", one.name)));
    array.isFixed = one.isFixed;
    checkShape(array);
    arrays.push_back(std::move(array));
  }
  return arrays;
}

std::string workspaceKey(const std::string &signature, const std::vector<SymmetricArray> &arrays,
                         const std::vector<int64_t> &team) {
  std::string key = signature;
  if (!team.empty())
    key += fmt::format("|team {}", fmt::join(team, ":"));
  for (const SymmetricArray &array : arrays)
    key += fmt::format("|{}{}:{}[{}]", array.isFixed ? "fixed " : "", array.name,
                       array.elementBytes, fmt::join(array.extents, ","));
  return key;
}

} // namespace ditron::abi
