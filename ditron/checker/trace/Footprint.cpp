// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/trace/Footprint.h"
#include <algorithm>

namespace ditron::checker {

namespace {

/// Appends the bytes of dimensions from `dim` on.
void collect(std::vector<Bytes> &runs, int64_t offset, const std::vector<int64_t> &sizes,
             const std::vector<int64_t> &strides, size_t dim, int64_t elementBytes) {
  bool isRow = dim + 1 == sizes.size() && strides[dim] == 1;
  if (dim == sizes.size() || isRow) {
    int64_t count = isRow ? sizes[dim] : 1;
    if (count > 0)
      runs.push_back({offset * elementBytes, (offset + count) * elementBytes});
    return;
  }
  for (int64_t i = 0; i < sizes[dim]; ++i)
    collect(runs, offset + i * strides[dim], sizes, strides, dim + 1, elementBytes);
}

/// Sorts, and joins what touches.
void normalize(std::vector<Bytes> &runs) {
  std::sort(runs.begin(), runs.end(),
            [](const Bytes &a, const Bytes &b) { return a.first < b.first; });
  std::vector<Bytes> joined;
  for (const Bytes &run : runs) {
    if (!joined.empty() && run.first <= joined.back().limit)
      joined.back().limit = std::max(joined.back().limit, run.limit);
    else
      joined.push_back(run);
  }
  runs = std::move(joined);
}

} // namespace

uint32_t Footprints::add(uint32_t memory, int64_t offset, const std::vector<int64_t> &sizes,
                         const std::vector<int64_t> &strides, int64_t elementBytes) {
  auto [found, isNew] =
      numbers_.try_emplace({memory, offset, sizes, strides}, static_cast<uint32_t>(all_.size()));
  if (isNew) {
    Footprint &footprint = all_.emplace_back(Footprint{memory, {}});
    if (std::find(sizes.begin(), sizes.end(), 0) == sizes.end())
      collect(footprint.runs, offset, sizes, strides, 0, elementBytes);
    normalize(footprint.runs);
  }
  return found->second;
}

std::optional<Bytes> Footprints::overlap(uint32_t a, uint32_t b) const {
  if (all_[a].memory != all_[b].memory)
    return std::nullopt;
  auto left = runs(a).begin(), right = runs(b).begin();
  while (left != runs(a).end() && right != runs(b).end()) {
    Bytes both{std::max(left->first, right->first), std::min(left->limit, right->limit)};
    if (both.first < both.limit)
      return both;
    ++(left->limit <= right->limit ? left : right);
  }
  return std::nullopt;
}

} // namespace ditron::checker
