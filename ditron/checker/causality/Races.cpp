// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/causality/Races.h"
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace ditron::checker {
namespace {

enum Mode { kRead, kWrite, kAtomic };

Mode modeOf(const Event &event) {
  return event.kind == Event::Kind::atomic ? kAtomic : event.writes() ? kWrite : kRead;
}

bool conflict(Mode a, Mode b) {
  return !(a == kRead && b == kRead) && !(a == kAtomic && b == kAtomic);
}

/// The accesses of one op of one thread to one footprint.
struct Accesses {
  uint32_t thread, op;
  std::array<std::vector<uint32_t>, 3> indices; ///< by mode, ascending
};
using ByFootprint = std::vector<std::vector<Accesses>>;

/// The accesses of a thread and an op, which may have come to the end of this list before.
Accesses &accessesOf(std::vector<Accesses> &all, uint32_t thread, uint32_t op) {
  for (size_t n = all.size(); n > 0 && all[n - 1].thread == thread; --n)
    if (all[n - 1].op == op)
      return all[n - 1];
  return all.emplace_back(Accesses{thread, op, {}});
}

/// Accesses by footprint. Of those that a thread makes in the same mode by the same op with no
/// synchronisation between, one stands for all.
ByFootprint collect(const Trace &trace) {
  ByFootprint all(trace.footprints.size());
  for (uint32_t t = 0; t < trace.threads.size(); ++t) {
    uint32_t lastSync = 0;
    for (uint32_t i = 0; i < trace.threads[t].size(); ++i) {
      const Event &event = trace.threads[t][i];
      if (event.isSync())
        lastSync = i;
      if (!event.isAccess() || trace.footprints.isEmpty(event.object))
        continue;
      Accesses &accesses = accessesOf(all[event.object], t, trace.siteOf(event).op);
      std::vector<uint32_t> &indices = accesses.indices[modeOf(event)];
      if (indices.empty() || indices.back() < lastSync)
        indices.push_back(i);
    }
  }
  return all;
}

/// Of the accesses of one op to one footprint that an access races with, so many are looked at.
constexpr int kMostPartners = 64;

class Finder {
public:
  Finder(const Trace &trace, const Causality &causality)
      : trace_(trace), causality_(causality), accesses_(collect(trace)) {}

  RaceReport run() {
    std::map<uint32_t, std::vector<uint32_t>> ofMemory;
    for (uint32_t f = 0; f < accesses_.size(); ++f)
      if (!accesses_[f].empty())
        ofMemory[trace_.footprints.memoryOf(f)].push_back(f);
    for (auto &[memory, footprints] : ofMemory)
      findIn(footprints);
    for (uint32_t t = 0; t < trace_.threads.size(); ++t)
      findUnfinished(t);
    for (auto &[key, race] : found_) {
      auto [a, b, memory, isAcrossLaunches] = key;
      if (!isAcrossLaunches || !found_.contains({a, b, memory, false}))
        report_.races.push_back(race);
    }
    std::sort(report_.races.begin(), report_.races.end(), [](const Race &a, const Race &b) {
      return std::pair(a.second, a.first) < std::pair(b.second, b.first);
    });
    return report_;
  }

private:
  bool isWritten(uint32_t footprint) const {
    return std::any_of(
        accesses_[footprint].begin(), accesses_[footprint].end(), [](const Accesses &accesses) {
          return !accesses.indices[kWrite].empty() || !accesses.indices[kAtomic].empty();
        });
  }

  /// All pairs of footprints of a memory: their bounds are compared before their bytes.
  void findIn(std::vector<uint32_t> &footprints) {
    auto begin = [&](uint32_t f) { return trace_.footprints.runs(f).front().first; };
    auto end = [&](uint32_t f) { return trace_.footprints.runs(f).back().limit; };
    std::sort(footprints.begin(), footprints.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(begin(a), a) < std::pair(begin(b), b);
    });
    for (size_t a = 0; a < footprints.size(); ++a)
      for (size_t b = a; b < footprints.size() && begin(footprints[b]) < end(footprints[a]); ++b) {
        if (!isWritten(footprints[a]) && !isWritten(footprints[b]))
          continue;
        if (auto bytes = trace_.footprints.overlap(footprints[a], footprints[b]))
          findBetween(footprints[a], footprints[b], *bytes);
      }
  }

  void findBetween(uint32_t a, uint32_t b, Bytes bytes) {
    for (const Accesses &left : accesses_[a])
      for (const Accesses &right : accesses_[b])
        if (a == b ? left.thread < right.thread : left.thread != right.thread)
          for (Mode m : {kRead, kWrite, kAtomic})
            for (Mode n : {kRead, kWrite, kAtomic})
              if (m != kRead || n != kRead)
                findBetween(left, m, right, n, bytes);
  }

  void findBetween(const Accesses &left, Mode m, const Accesses &right, Mode n, Bytes bytes) {
    const std::vector<uint32_t> &others = right.indices[n];
    if (others.empty())
      return;
    for (uint32_t index : left.indices[m]) {
      Position a{left.thread, index};
      auto range = causality_.unordered(a, right.thread);
      auto other = std::lower_bound(others.begin(), others.end(), range.first);
      for (int partner = 0;
           partner < kMostPartners && other != others.end() && *other < range.limit;
           ++partner, ++other) {
        if (conflict(m, n))
          add({a, {right.thread, *other}, bytes});
        else
          report_.hasUnorderedAtomics = true;
      }
    }
  }

  /// Puts of a thread that may not be complete when it touches their memory again.
  void findUnfinished(uint32_t t) {
    struct Flying {
      uint32_t index;
      bool isFenced; ///< before what is put now to the same rank
    };
    std::vector<Flying> flying;
    const Thread &thread = trace_.threads[t];
    for (uint32_t i = 0; i < thread.size(); ++i) {
      const Event &event = thread[i];
      if (event.isRelease() || event.kind == Event::Kind::quiet)
        flying.clear();
      if (event.kind == Event::Kind::fence)
        for (Flying &put : flying)
          put.isFenced = true;
      if (!event.isAccess())
        continue;
      for (const Flying &put : flying)
        if (isUnfinished(thread, put.index, put.isFenced, i))
          if (auto bytes = trace_.footprints.overlap(thread[put.index].object, event.object))
            add({{t, put.index}, {t, i}, *bytes});
      if (event.isPut())
        flying.push_back({i, false});
    }
  }

  /// Whether a put's access can still be made when the thread makes another one.
  bool isUnfinished(const Thread &thread, uint32_t put, bool isFenced, uint32_t other) const {
    if (!thread[put].conflictsWith(thread[other]))
      return false;
    bool isSamePut = other == put + 1 && thread[other].continues;
    if (isSamePut)
      return true; // its source is its destination
    return !(isFenced && thread[other].isPut() &&
             targetRank(thread, put) == targetRank(thread, other));
  }

  /// The rank to which a put goes, of the access to its source or its destination.
  int64_t targetRank(const Thread &thread, uint32_t put) const {
    const Event &target =
        thread[put].kind == Event::Kind::putSource ? thread[put + 1] : thread[put];
    return trace_.memoryOf(target).rank;
  }

  using Key = std::tuple<uint32_t, uint32_t, std::string, bool>;

  void add(Race race) {
    const Event &first = trace_.at(race.first), &second = trace_.at(race.second);
    uint32_t a = trace_.siteOf(first).op, b = trace_.siteOf(second).op;
    if (a > b) { // an order of the program's, so that the same pair is found as one
      std::swap(a, b);
      std::swap(race.first, race.second);
    }
    bool isAcrossLaunches = first.launch != second.launch;
    Key key{a, b, trace_.memoryOf(first).name, isAcrossLaunches};
    auto [known, isNew] = found_.try_emplace(key, race);
    if (isNew)
      return;
    uint64_t pairs = ++known->second.pairs;
    if (cost(race) < cost(known->second))
      known->second = race;
    known->second.pairs = pairs;
  }

  /// What leads there: how far the two threads have to go; then any order that is always the same.
  std::tuple<uint32_t, Position, Position> cost(const Race &race) const {
    return {race.first.index + race.second.index, race.first, race.second};
  }

  const Trace &trace_;
  const Causality &causality_;
  ByFootprint accesses_;
  std::map<Key, Race> found_;
  RaceReport report_;
};

} // namespace

RaceReport findRaces(const Trace &trace, const Causality &causality) {
  return Finder(trace, causality).run();
}

RacedOps::value_type racedOps(const Trace &trace, Position one, Position other) {
  auto [a, b] = std::minmax({trace.siteOf(trace.at(one)).op, trace.siteOf(trace.at(other)).op});
  return {a, b, trace.memoryOf(trace.at(one)).name};
}

bool RacingWrites::any(const UndefinedRead &read, const RacedOps &raced) {
  if (raced.empty())
    return false;
  collect();
  auto races = [&](Position write) {
    if (write.thread == read.at.thread ||
        !causality_.unordered(read.at, write.thread).contains(write.index) ||
        !raced.contains(racedOps(trace_, read.at, write)))
      return false;
    const std::vector<Bytes> &runs = trace_.footprints.runs(trace_.at(write).object);
    return std::any_of(runs.begin(), runs.end(), [&](const Bytes &run) {
      return run.first < read.bytes.limit && read.bytes.first < run.limit;
    });
  };
  const std::vector<Position> &writes =
      ofMemory_[trace_.footprints.memoryOf(trace_.at(read.at).object)];
  return std::any_of(writes.begin(), writes.end(), races);
}

void RacingWrites::collect() {
  if (std::exchange(isCollected_, true))
    return;
  ofMemory_.resize(trace_.memories.size());
  for (uint32_t t = 0; t < trace_.threads.size(); ++t)
    for (uint32_t i = 0; i < trace_.threads[t].size(); ++i)
      if (const Event &event = trace_.threads[t][i]; event.isAccess() && event.writes())
        ofMemory_[trace_.footprints.memoryOf(event.object)].push_back({t, i});
}

std::vector<ScopeFault> findNarrowScopes(const Trace &trace, const Causality &causality) {
  struct Use {
    std::vector<Position> waits, notifies;
    Scope least = Scope::network;
  };
  std::map<uint32_t, Use> uses; // of counters
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    for (uint32_t i = 0; i < trace.threads[t].size(); ++i)
      if (const Event &event = trace.threads[t][i]; event.isSync()) {
        Use &use = uses[event.object];
        (event.kind == Event::Kind::wait ? use.waits : use.notifies).push_back({t, i});
        use.least = std::min(use.least, event.scope);
      }
  std::map<std::pair<uint32_t, uint32_t>, ScopeFault> found;
  for (const auto &[counter, use] : uses)
    if (use.least != Scope::network)
      for (Position wait : use.waits)
        for (Position notify : use.notifies)
          if (trace.between(wait.thread, notify.thread) >
                  std::min(trace.at(wait).scope, trace.at(notify).scope) &&
              !causality.mustPrecede(wait, notify))
            found.try_emplace({trace.siteOf(trace.at(wait)).op, trace.siteOf(trace.at(notify)).op},
                              ScopeFault{wait, notify});
  std::vector<ScopeFault> faults;
  for (const auto &[ops, fault] : found)
    faults.push_back(fault);
  return faults;
}

std::vector<SenderFault> findSeveralSenders(const Trace &trace) {
  std::map<uint32_t, Position> senders; // of counters
  std::map<std::pair<uint32_t, uint32_t>, SenderFault> found;
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    for (uint32_t i = 0; trace.isCopyEngine(t) && i < trace.threads[t].size(); ++i) {
      const Event &event = trace.threads[t][i];
      if (!event.isRelease() || trace.counters[event.object].kind != Trace::Counter::Kind::signal)
        continue;
      Position first = senders.try_emplace(event.object, Position{t, i}).first->second;
      if (first.thread != t)
        found.try_emplace({trace.siteOf(trace.at(first)).op, trace.siteOf(event).op},
                          SenderFault{first, {t, i}});
    }
  std::vector<SenderFault> faults;
  for (const auto &[ops, fault] : found)
    faults.push_back(fault);
  return faults;
}

namespace {

/// The first and the last event of each thread in each launch.
class LaunchBounds {
public:
  LaunchBounds(const Trace &trace, const Causality &causality)
      : trace_(trace), causality_(causality) {
    for (uint32_t t = 0; t < trace.threads.size(); ++t)
      for (uint32_t i = 0; i < trace.threads[t].size(); ++i) {
        auto [known, isNew] = bounds_.try_emplace({t, trace.threads[t][i].launch}, i, i);
        known->second.second = i;
      }
  }

  bool isEarly(Position notify) const {
    return noThread(notify, /*copyEnginesOfAll=*/false, [&](uint32_t t, auto bounds) {
      return causality_.mustPrecede({t, bounds.first}, notify);
    });
  }
  /// A launch ends behind the cores of the rank and the copy engines of all.
  bool isLate(Position notify) const {
    return noThread(notify, /*copyEnginesOfAll=*/true, [&](uint32_t t, auto bounds) {
      return causality_.mustPrecede(notify, {t, bounds.second});
    });
  }

private:
  template <class Test>
  bool noThread(Position notify, bool copyEnginesOfAll, const Test &test) const {
    const Event &event = trace_.at(notify);
    int64_t rank = trace_.counters[event.object].rank;
    for (uint32_t t = 0; t < trace_.threads.size(); ++t) {
      bool counts = trace_.rankOf(t) == rank || (copyEnginesOfAll && trace_.isCopyEngine(t));
      auto bounds = bounds_.find({t, event.launch});
      if (counts && bounds != bounds_.end() && test(t, bounds->second))
        return false;
    }
    return true;
  }

  const Trace &trace_;
  const Causality &causality_;
  std::map<std::pair<uint32_t, uint16_t>, std::pair<uint32_t, uint32_t>> bounds_;
};

/// All counters of an array, on all ranks: "signal 'ready'".
std::string arrayOf(const Trace::Counter &counter) {
  return counter.name.substr(0, counter.name.find("'["));
}

bool isSignal(const Trace &trace, const Event &event) {
  return event.isSync() && trace.counters[event.object].kind == Trace::Counter::Kind::signal;
}

/// Of each counter, whether copy engines notify or wait for one of its array.
std::vector<bool> countersOfCopyEngines(const Trace &trace) {
  std::set<std::string> arrays;
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    if (trace.isCopyEngine(t))
      for (const Event &event : trace.threads[t])
        if (isSignal(trace, event))
          arrays.insert(arrayOf(trace.counters[event.object]));
  std::vector<bool> result;
  for (const Trace::Counter &counter : trace.counters)
    result.push_back(arrays.contains(arrayOf(counter)));
  return result;
}

} // namespace

std::vector<StrayNotify> findStrayNotifies(const Trace &trace, const Causality &causality) {
  if (!trace.hasCopyEngines)
    return {};
  std::vector<bool> isOfCopyEngines = countersOfCopyEngines(trace);
  LaunchBounds bounds(trace, causality);
  std::map<uint32_t, StrayNotify> found; // by op
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    for (uint32_t i = 0; !trace.isCopyEngine(t) && i < trace.threads[t].size(); ++i) {
      const Event &event = trace.threads[t][i];
      uint32_t op = trace.siteOf(event).op;
      if (!event.isRelease() || !isSignal(trace, event) || !isOfCopyEngines[event.object] ||
          trace.counters[event.object].rank == trace.rankOf(t) || found.contains(op))
        continue;
      if (bool isEarly = bounds.isEarly({t, i}); isEarly || bounds.isLate({t, i}))
        found[op] = {{t, i}, isEarly};
    }
  std::vector<StrayNotify> strays;
  for (const auto &[op, stray] : found)
    strays.push_back(stray);
  return strays;
}

} // namespace ditron::checker
