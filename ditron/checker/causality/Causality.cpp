// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/causality/Causality.h"
#include <algorithm>
#include <utility>

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
    : releases_(threads.size()), steps_(threads.size() * threads.size()) {
  for (uint32_t t = 0; t < threads.size(); ++t)
    for (uint32_t i = 0; i < threads[t].size(); ++i)
      if (threads[t][i].isRelease())
        releases_[t].push_back(i);
  Front start(threads, counters); // nobody has moved
  for (uint32_t stopped = 0; stopped < threads.size(); ++stopped) {
    Front front = start;
    for (uint32_t other = 0; other < threads.size(); ++other)
      if (other != stopped)
        front.allow(other, static_cast<uint32_t>(threads[other].size()));
    follow(stopped, std::move(front));
  }
}

/// Lets the stopped thread make one release after the other, and notes where the others get to.
void Causality::follow(uint32_t stopped, Front front) {
  for (uint32_t epoch = 0; epoch <= releases_[stopped].size(); ++epoch) {
    if (epoch > 0)
      front.allow(stopped, releases_[stopped][epoch - 1] + 1);
    front.run();
    for (uint32_t other = 0; other < releases_.size(); ++other) {
      std::vector<Step> &known = steps_[stopped * releases_.size() + other];
      uint32_t position = front.position(other);
      if (known.empty() || known.back().position != position)
        known.push_back({epoch, position});
    }
  }
}

uint32_t Causality::reach(Position stopped, uint32_t thread) const {
  if (thread == stopped.thread)
    return stopped.index;
  const std::vector<uint32_t> &releases = releases_[stopped.thread];
  auto epoch = std::lower_bound(releases.begin(), releases.end(), stopped.index) - releases.begin();
  const std::vector<Step> &known = steps(stopped.thread, thread);
  auto behind = std::upper_bound(known.begin(), known.end(), epoch,
                                 [](auto epoch, const Step &step) { return epoch < step.epoch; });
  return std::prev(behind)->position;
}

bool Causality::mustPrecede(Position a, Position b) const {
  if (a.thread == b.thread)
    return a.index < b.index;
  return b.index >= reach(a, b.thread);
}

Causality::Range Causality::unordered(Position a, uint32_t thread) const {
  uint32_t limit = reach(a, thread);
  // The first release of the other thread behind which `a` can be reached: what comes before must
  // come before `a`.
  const std::vector<Step> &known = steps(thread, a.thread);
  auto enough =
      std::upper_bound(known.begin(), known.end(), a.index,
                       [](uint32_t index, const Step &step) { return index < step.position; });
  if (enough == known.end())
    return {limit, limit}; // the run is stuck before `a`
  return {enough->epoch == 0 ? 0 : releases_[thread][enough->epoch - 1] + 1, limit};
}

} // namespace ditron::checker
