// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/check/Causality.h"
#include <algorithm>

namespace ditron::checker {

//===-- Front ---------------------------------------------------------------------------------===//

Front::Front(const std::vector<Thread> &threads, size_t counters)
    : cores_(threads.size()), values_(counters), waiters_(counters) {
  for (size_t t = 0; t < threads.size(); ++t) {
    Core &core = cores_[t];
    core.length = static_cast<uint32_t>(threads[t].size());
    for (uint32_t i = 0; i < core.length; ++i)
      if (const Event &event = threads[t][i]; event.isSync())
        core.syncs.push_back({i, event.object, event.value, event.kind});
  }
}

void Front::allow(uint32_t thread, uint32_t limit) {
  Core &core = cores_[thread];
  core.limit = std::max(core.limit, std::min(limit, core.length));
  enqueue(thread);
}

void Front::allowAll() {
  for (uint32_t t = 0; t < cores_.size(); ++t)
    allow(t, cores_[t].length);
}

void Front::enqueue(uint32_t thread) {
  if (!std::exchange(cores_[thread].isQueued, true))
    queue_.push_back(thread);
}

void Front::run() {
  while (!queue_.empty()) {
    uint32_t thread = queue_.back();
    queue_.pop_back();
    advance(thread);
  }
}

void Front::runOnly(uint32_t thread) { advance(thread); }

void Front::advance(uint32_t thread) {
  Core &core = cores_[thread];
  core.isQueued = false;
  for (; core.next < core.syncs.size(); ++core.next) {
    const Sync &sync = core.syncs[core.next];
    if (sync.index >= core.limit)
      return;
    if (sync.kind != Event::Kind::wait)
      raise(sync);
    else if (values_[sync.counter] < sync.value)
      return waiters_[sync.counter].push_back(thread);
  }
}

void Front::raise(const Sync &notify) {
  uint64_t &value = values_[notify.counter];
  value =
      notify.kind == Event::Kind::notifyAdd ? value + notify.value : std::max(value, notify.value);
  // Those who still wait register again when they are asked.
  for (uint32_t waiter : std::exchange(waiters_[notify.counter], {}))
    enqueue(waiter);
}

uint32_t Front::position(uint32_t thread) const {
  const Core &core = cores_[thread];
  return core.next < core.syncs.size() ? std::min(core.syncs[core.next].index, core.limit)
                                       : core.limit;
}

std::vector<uint32_t> Front::positions() const {
  std::vector<uint32_t> all;
  for (uint32_t t = 0; t < cores_.size(); ++t)
    all.push_back(position(t));
  return all;
}

bool Front::isBlocked(uint32_t thread) const {
  const Core &core = cores_[thread];
  if (core.next == core.syncs.size() || core.syncs[core.next].index >= core.limit)
    return false;
  const Sync &sync = core.syncs[core.next];
  return sync.kind == Event::Kind::wait && values_[sync.counter] < sync.value;
}

//===-- Causality -----------------------------------------------------------------------------===//

Causality::Causality(const std::vector<Thread> &threads, size_t counters)
    : releases_(threads.size()), rows_(threads.size()) {
  Front start(threads, counters); // nobody has moved
  for (uint32_t p = 0; p < threads.size(); ++p) {
    for (uint32_t i = 0; i < threads[p].size(); ++i)
      if (threads[p][i].isRelease())
        releases_[p].push_back(i);
    Front front = start;
    for (uint32_t other = 0; other < threads.size(); ++other)
      if (other != p)
        front.allow(other, static_cast<uint32_t>(threads[other].size()));
    rows_[p].reserve((releases_[p].size() + 1) * threads.size());
    for (size_t epoch = 0; epoch <= releases_[p].size(); ++epoch) {
      if (epoch > 0)
        front.allow(p, releases_[p][epoch - 1] + 1);
      front.run();
      for (uint32_t other = 0; other < threads.size(); ++other)
        rows_[p].push_back(front.position(other));
    }
  }
}

size_t Causality::epochOf(Position position) const {
  const std::vector<uint32_t> &releases = releases_[position.thread];
  return std::lower_bound(releases.begin(), releases.end(), position.index) - releases.begin();
}

uint32_t Causality::reach(Position stopped, uint32_t thread) const {
  return thread == stopped.thread ? stopped.index : row(stopped.thread, epochOf(stopped), thread);
}

bool Causality::mustPrecede(Position a, Position b) const {
  if (a.thread == b.thread)
    return a.index < b.index;
  return b.index >= reach(a, b.thread);
}

Causality::Range Causality::unordered(Position a, uint32_t thread) const {
  // The first epoch of the other thread without which `a` can be reached: events before it must
  // come before `a`.
  size_t low = 0, high = releases_[thread].size() + 1;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (row(thread, middle, a.thread) > a.index)
      high = middle;
    else
      low = middle + 1;
  }
  uint32_t limit = reach(a, thread);
  if (low == releases_[thread].size() + 1)
    return {limit, limit}; // not even after all of them: the run is stuck before `a`
  return {low == 0 ? 0 : releases_[thread][low - 1] + 1, limit};
}

} // namespace ditron::checker
