// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the machine knows of a trace before it runs: who uses which counter, and which accesses
// would race if nothing ordered them.
#include "ditron/checker/explore/ExploreState.h"
#include <algorithm>
#include <map>

namespace ditron::checker {

Machine::Machine(const Trace &trace) : trace_(trace) {
  for (const Thread &thread : trace.threads)
    infos_.emplace_back(thread.size());
  findComponents();
  findUses();
  findConflicts();
}

void Machine::findComponents() {
  width_ = trace_.threads.size();
  components_.resize(trace_.threads.size());
  for (uint32_t t = 0; t < trace_.threads.size(); ++t) {
    std::map<int64_t, uint32_t> counts; // of puts to each peer
    for (uint32_t i = 0; i < trace_.threads[t].size(); ++i) {
      const Event &event = trace_.threads[t][i];
      if (!event.isPut())
        continue;
      int64_t peer = trace_.peerOf({t, i});
      auto found = std::find_if(components_[t].begin(), components_[t].end(),
                                [&](const auto &known) { return known.first == peer; });
      if (found == components_[t].end()) {
        components_[t].emplace_back(peer, static_cast<uint32_t>(width_++));
        found = std::prev(components_[t].end());
      }
      infos_[t][i].component = found->second;
      infos_[t][i].number = counts[peer] += event.kind == Event::Kind::putSource;
    }
  }
}

void Machine::findUses() {
  lastUses_.resize(trace_.threads.size() * trace_.counters.size());
  isMonotone_.assign(trace_.counters.size(), true);
  adds_.resize(trace_.counters.size());
  waits_.resize(trace_.counters.size());
  for (uint32_t t = 0; t < trace_.threads.size(); ++t)
    for (uint32_t i = 0; i < trace_.threads[t].size(); ++i) {
      const Event &event = trace_.threads[t][i];
      if (!event.isSync())
        continue;
      LastUse &last = lastUses_[t * trace_.counters.size() + event.object];
      if (event.kind == Event::Kind::wait) {
        last.wait = i;
        if (event.takes)
          last.change = i;
        waits_[event.object].push_back({t, i});
      } else {
        (event.kind == Event::Kind::notifyAdd ? last.add : last.change) = i;
        adds_[event.object].push_back({t, i});
      }
      if (event.isExact || event.takes || event.shrinks())
        isMonotone_[event.object] = false;
    }
  for (uint32_t c = 0; c < trace_.counters.size(); ++c)
    for (Position one : adds_[c])
      for (Position other : waits_[c])
        if (trace_.between(one.thread, other.thread) >
            std::min(trace_.at(one).scope, trace_.at(other).scope))
          tracksOrder_ = true, isMonotone_[c] = false; // a late wait sees more of it
}

bool Machine::isNeededByAll(const State &state, const Event &add) const {
  if (add.kind != Event::Kind::notifyAdd || !isMonotone_[add.object])
    return false;
  uint64_t most = state.counters[add.object];
  for (Position one : adds_[add.object]) {
    const Event &event = trace_.at(one);
    if (event.kind != Event::Kind::notifyAdd)
      return false;
    if (one.index >= state.at[one.thread])
      most += event.value;
  }
  return std::all_of(waits_[add.object].begin(), waits_[add.object].end(), [&](Position one) {
    return one.index < state.at[one.thread] || trace_.at(one).value > most - add.value;
  });
}

//===-- Conflicts -----------------------------------------------------------------------------===//

void Machine::findConflicts() {
  std::map<uint32_t, std::vector<Position>> byFootprint;
  for (uint32_t t = 0; t < trace_.threads.size(); ++t)
    for (uint32_t i = 0; i < trace_.threads[t].size(); ++i)
      if (const Event &event = trace_.threads[t][i];
          event.isAccess() && !trace_.footprints.isEmpty(event.object))
        byFootprint[event.object].push_back({t, i});
  for (auto left = byFootprint.begin(); left != byFootprint.end(); ++left)
    for (auto right = left; right != byFootprint.end(); ++right)
      if (auto bytes = trace_.footprints.overlap(left->first, right->first))
        for (Position one : left->second)
          for (Position other : right->second)
            if (left != right || one < other)
              relate(one, other, *bytes);
}

/// Two accesses to the same bytes.
void Machine::relate(Position one, Position other, Bytes bytes) {
  const Event &first = trace_.at(one), &second = trace_.at(other);
  auto info = [&](Position at) -> Info & { return infos_[at.thread][at.index]; };
  bool isOrdered = one.thread == other.thread && !first.isPut() && !second.isPut();
  if (first.conflictsWith(second) && !isOrdered) {
    info(one).conflicts.push_back({other, bytes});
    info(other).conflicts.push_back({one, bytes});
    tracksOrder_ = true;
  }
  if (first.launch != second.launch || trace_.memoryOf(first).isDefined)
    return;
  if (one.thread != other.thread && (first.writes() || second.writes()))
    tracksOrder_ = true; // atomic ones: they do not race, but a read may come before all writes
  if (second.writes())
    info(one).writers.push_back(other);
  if (first.writes())
    info(other).writers.push_back(one);
}

} // namespace ditron::checker
