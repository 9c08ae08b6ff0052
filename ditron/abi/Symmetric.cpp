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

/// Between the parts of a key, which no part has in it.
static constexpr char kBetween = '|';

std::string workspaceKey(const std::string &signature, const KernelInfo &info,
                         const std::vector<SymmetricArray> &arrays) {
  std::vector<std::string_view> types;
  for (const Argument &argument : info.arguments)
    types.push_back(name(argument.type));
  std::string key = fmt::format("{}{}{}", signature, kBetween, fmt::join(types, ","));
  key += info.team.empty() ? fmt::format("{}all ranks", kBetween)
                           : fmt::format("{}team {}", kBetween, fmt::join(info.team, ":"));
  key += fmt::format("{}{}", kBetween, info.barriers);
  for (const SymmetricArray &array : arrays)
    key += fmt::format("{}{}{}{}:{}[{}]", kBetween, array.isFixed ? "fixed " : "",
                       array.kind == SymmetricKind::inbox ? "inbox " : "", array.name,
                       array.elementBytes, fmt::join(array.extents, ","));
  return key;
}

static std::vector<std::string_view> partsOf(std::string_view key) {
  std::vector<std::string_view> parts;
  for (size_t end; (end = key.find(kBetween)) != std::string_view::npos; key.remove_prefix(end + 1))
    parts.push_back(key.substr(0, end));
  parts.push_back(key);
  return parts;
}

std::string_view kernelOfKey(std::string_view key) {
  std::vector<std::string_view> parts = partsOf(key);
  return parts.size() > 1 ? parts.front() : std::string_view();
}

std::optional<KeyDifference> differenceOfKeys(std::string_view one, std::string_view other) {
  constexpr size_t kTypes = 1, kTeam = 2, kBarriers = 3;
  std::vector<std::string_view> parts = partsOf(one), others = partsOf(other);
  auto [part, second] = std::ranges::mismatch(parts, others);
  auto number = static_cast<size_t>(part - parts.begin());
  if (number == 0 || part == parts.end() || second == others.end())
    return std::nullopt;
  if (number == kTypes)
    return KeyDifference{"types", "those of its arguments are", *part, *second};
  if (number == kTeam)
    return KeyDifference{"ranks", "it is for", *part, *second};
  if (number == kBarriers)
    return KeyDifference{"barriers", "their number is", *part, *second};
  return KeyDifference{"sizes", "its symmetric memory is", *part, *second};
}

} // namespace ditron::abi
