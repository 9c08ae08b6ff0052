// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/LaunchGraphs.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <utility>

namespace ditron::runtime::nvidia {

const Graph *LaunchGraphs::next(const void *binding, const Make &make) {
  auto [found, isFirst] = entries_.try_emplace(binding);
  Entry &entry = found->second;
  entry.used = ++launches_;
  if (isFirst || entry.graph || entry.isRefused || !hasRoom())
    return entry.graph.get();
  try {
    entry.graph = make();
    ++graphs_;
  } catch (const RuntimeError &) {
    entry.isRefused = true;
  }
  return entry.graph.get();
}

/// Whether there is room for one more graph, which an idle one may have made.
bool LaunchGraphs::hasRoom() {
  if (graphs_ < kMost)
    return true;
  auto age = [this](const auto &one) { return one.second.graph ? launches_ - one.second.used : 0; };
  auto oldest = std::max_element(entries_.begin(), entries_.end(),
                                 [&](const auto &a, const auto &b) { return age(a) < age(b); });
  if (age(*oldest) <= kIdle)
    return false;
  oldest->second.graph.reset();
  --graphs_;
  return true;
}

void LaunchGraphs::clear() {
  forgotten_ = std::exchange(entries_, {});
  graphs_ = 0;
}

} // namespace ditron::runtime::nvidia
