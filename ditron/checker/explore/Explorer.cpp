// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/explore/Explorer.h"
#include "ditron/checker/report/ExploreText.h"
#include "ditron/support/Hash.h"
#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <unordered_set>

namespace ditron::checker {

using Path = std::vector<uint32_t>;

namespace {

//===-- Which threads to follow ---------------------------------------------------------------===//

bool contains(const Path &path, uint32_t thread) {
  return std::find(path.begin(), path.end(), thread) != path.end();
}

/// Chooses persistent sets.
class Reduction {
public:
  Reduction(const Machine &machine, const State &state) : machine_(machine), state_(state) {}

  /// The enabled threads to follow from the state, of `enabled`, which are all.
  Path choose(const Path &enabled) const {
    // Nobody can end what such a wait waits for, and the earlier it is, the less it orders.
    for (uint32_t t : enabled)
      if (const Event &event = *machine_.next(state_, t);
          event.kind == Event::Kind::wait && machine_.isMonotone(event.object))
        return {t};
    Path best = enabled;
    for (uint32_t t : enabled) {
      Path set = closure(t);
      std::erase_if(set, [&](uint32_t one) { return !contains(enabled, one); });
      if (set.size() < best.size())
        best = std::move(set);
    }
    return best;
  }

private:
  /// A persistent set with a thread.
  Path closure(uint32_t first) const {
    Path set{first};
    for (size_t i = 0; i < set.size(); ++i)
      for (uint32_t other = 0; other < state_.at.size(); ++other)
        if (!contains(set, other) && mustFollow(set[i], other))
          set.push_back(other);
    return set;
  }

  bool isLeft(uint32_t thread, int64_t index) const {
    return index >= static_cast<int64_t>(state_.at[thread]);
  }

  /// Whether what a thread still has to do depends on the next step of one in the set, or could
  /// enable it.
  bool mustFollow(uint32_t member, uint32_t other) const {
    const Event *event = machine_.next(state_, member);
    if (!event || !machine_.next(state_, other))
      return false;
    const Machine::LastUse &last = machine_.lastUse(other, event->object);
    bool waits = isLeft(other, last.wait), adds = isLeft(other, last.add),
         changes = isLeft(other, last.change);
    if (event->kind == Event::Kind::wait)
      return adds || changes || (event->takes && waits);
    if (event->kind == Event::Kind::notifyAdd)
      return changes || (waits && !machine_.isNeededByAll(state_, *event));
    return waits || adds || changes;
  }

  const Machine &machine_;
  const State &state_;
};

//===-- The search ----------------------------------------------------------------------------===//

/// A fault, and a path that leads there.
struct Found {
  Explained explained;
  Fault fault;
  Path path;
};

using FoundFaults = std::map<std::string, Found>;

class Search {
public:
  Search(const Machine &machine, bool reduce, const ExploreOptions &options)
      : machine_(machine), reduce_(reduce), options_(options) {}

  /// Breadth first. False if the budget, the memory or the time is spent before the end. Stops where
  /// `wanted`, if any, are all found.
  bool run(const FoundFaults *wanted = nullptr) {
    std::vector<Fault> faults;
    State first = machine_.start(faults);
    visit(std::move(first), 0, 0, faults);
    while (!queue_.empty()) {
      if (isLate() || seen_.size() > options_.states || isTooLarge())
        return false;
      if (wanted && hasAll(*wanted))
        return true;
      auto [state, node] = std::move(queue_.front());
      queue_.pop_front();
      queuedBytes_ -= state.bytes();
      expand(state, node);
    }
    return true;
  }

  bool isLate() const { return std::chrono::steady_clock::now() > options_.deadline; }
  bool isTooLarge() const { return queuedBytes_ > options_.bytes; }
  uint64_t states() const { return seen_.size(); }
  FoundFaults &found() { return found_; }
  /// The accesses of races that are not waived.
  const std::set<Position> &raced() const { return raced_; }

  /// One schedule; `pick` chooses of the enabled threads.
  template <class Pick> void sample(Pick pick) {
    std::vector<Fault> faults;
    State state = machine_.start(faults);
    Path path;
    note(state, faults, path);
    for (Path enabled = enabledOf(state); !enabled.empty(); enabled = enabledOf(state))
      go(state, pick(enabled), path);
    noteEnd(state, path);
  }

  /// The schedule of a run, by the threads of its notifies and waits.
  void follow(const std::vector<uint32_t> &order) {
    std::vector<Fault> faults;
    State state = machine_.start(faults);
    Path path;
    note(state, faults, path);
    for (uint32_t thread : order)
      go(state, thread, path);
    if (enabledOf(state).empty())
      noteEnd(state, path);
  }

private:
  struct Node {
    uint32_t parent, thread;
  };

  void go(State &state, uint32_t thread, Path &path) {
    std::vector<Fault> faults;
    path.push_back(thread);
    machine_.advance(state, thread, faults);
    note(state, faults, path);
  }

  bool hasAll(const FoundFaults &wanted) const {
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const auto &one) { return found_.contains(one.first); });
  }

  Path enabledOf(const State &state) const {
    Path enabled;
    for (uint32_t t = 0; t < state.at.size(); ++t)
      if (machine_.isEnabled(state, t))
        enabled.push_back(t);
    return enabled;
  }

  void expand(const State &state, uint32_t node) {
    Path enabled = enabledOf(state);
    if (enabled.empty())
      return noteEnd(state, pathTo(node));
    if (reduce_)
      enabled = Reduction(machine_, state).choose(enabled);
    for (uint32_t thread : enabled) {
      State after = state;
      std::vector<Fault> faults;
      machine_.advance(after, thread, faults);
      visit(std::move(after), node, thread, faults);
    }
  }

  void visit(State state, uint32_t parent, uint32_t thread, const std::vector<Fault> &faults) {
    std::string key = state.key(machine_.tracksOrder());
    bool isNew = seen_.insert(hexDigest(key)).second;
    if (!isNew && faults.empty())
      return;
    nodes_.push_back({parent, thread});
    auto node = static_cast<uint32_t>(nodes_.size() - 1);
    note(state, faults, pathTo(node)); // one state can be reached with a fault and without
    if (!isNew)
      return;
    queue_.emplace_back(std::move(state), node);
    queuedBytes_ += queue_.back().first.bytes();
  }

  Path pathTo(uint32_t node) const {
    Path path;
    for (; node; node = nodes_[node].parent)
      path.push_back(nodes_[node].thread);
    std::reverse(path.begin(), path.end());
    return path;
  }

  void note(const State &state, const std::vector<Fault> &faults, const Path &path) {
    for (const Fault &fault : faults) {
      std::string key = keyOf(machine_, fault, state);
      auto found = found_.find(key);
      if (found == found_.end() || found->second.path.size() > path.size())
        found =
            found_.insert_or_assign(key, Found{explainFault(machine_, state, fault), fault, path})
                .first;
      if (fault.kind == Fault::Kind::race && !isWaived(found->second.explained))
        raced_.insert({fault.at, *fault.other});
    }
  }

  bool isWaived(const Explained &explained) const {
    return std::any_of(explained.ops.begin(), explained.ops.end(),
                       [&](uint32_t op) { return !machine_.trace().ops[op].waivers.empty(); });
  }

  /// Nobody can go on: all are done, or it is a deadlock, or one has stopped by an error.
  void noteEnd(const State &state, const Path &path) {
    if (std::find(state.stopped.begin(), state.stopped.end(), 1) != state.stopped.end())
      return;
    for (uint32_t t = 0; t < state.at.size(); ++t)
      if (machine_.next(state, t))
        return note(state, {{.kind = Fault::Kind::deadlock, .at = {t, state.at[t]}}}, path);
  }

  const Machine &machine_;
  bool reduce_;
  const ExploreOptions &options_;
  std::vector<Node> nodes_;
  std::deque<std::pair<State, uint32_t>> queue_;
  size_t queuedBytes_ = 0;
  std::unordered_set<std::string> seen_; ///< hashes of states
  FoundFaults found_;
  std::set<Position> raced_;
};

//===-- Sampling ------------------------------------------------------------------------------===//

/// The enabled thread of the highest priority; at some points the running one falls to the lowest.
class Priorities {
public:
  Priorities(std::mt19937_64 &random, size_t threads, uint64_t length) {
    for (size_t t = 0; t < threads; ++t)
      priority_.push_back(static_cast<int64_t>(random() >> 1));
    constexpr int kPoints = 3;
    for (int i = 0; i < kPoints; ++i)
      points_.insert(random() % std::max<uint64_t>(length, 1));
  }

  uint32_t operator()(const Path &enabled) {
    auto best = [&] {
      return *std::max_element(enabled.begin(), enabled.end(), [&](uint32_t one, uint32_t other) {
        return priority_[one] < priority_[other];
      });
    };
    if (points_.count(step_++))
      priority_[best()] = -static_cast<int64_t>(step_);
    return best();
  }

private:
  std::vector<int64_t> priority_;
  std::set<uint64_t> points_;
  uint64_t step_ = 0;
};

/// How many were sampled.
int64_t sampleSchedules(const Machine &machine, Search &search, const ExploreOptions &options) {
  uint64_t length = 0;
  for (const Thread &thread : machine.trace().threads)
    length += std::count_if(thread.begin(), thread.end(),
                            [](const Event &event) { return event.isSync(); });
  int64_t i = 0;
  for (; i < options.schedules && !search.isLate(); ++i) {
    std::mt19937_64 random(options.seed * 1'000'003 + static_cast<uint64_t>(i));
    if (i % 2)
      search.sample(Priorities(random, machine.trace().threads.size(), length));
    else
      search.sample([&](const Path &enabled) { return enabled[random() % enabled.size()]; });
  }
  return i;
}

//===-- Together ------------------------------------------------------------------------------===//

/// What is read before it is written in a race is the race's. Of the other reads of an op and a memory the
/// nearest stands for all.
void dropConsequences(FoundFaults &found, const std::set<Position> &raced) {
  auto isRead = [](const Found &one) { return one.fault.kind == Fault::Kind::uninitializedRead; };
  auto keyOf = [](const Found &one) {
    return std::pair(one.explained.ops[0], one.explained.memory);
  };
  std::erase_if(found, [&](const auto &one) {
    return isRead(one.second) && raced.contains(one.second.fault.at);
  });
  std::map<std::pair<uint32_t, std::string>, const Found *> nearest;
  for (const auto &[key, one] : found)
    if (isRead(one))
      if (const Found *&known = nearest[keyOf(one)]; !known || one.path.size() < known->path.size())
        known = &one;
  std::erase_if(found, [&](const auto &one) {
    return isRead(one.second) && nearest[keyOf(one.second)] != &one.second;
  });
}

/// Replaces what was found by the same with the shortest path, where the budget reaches.
void shorten(const Machine &machine, FoundFaults &found, const ExploreOptions &options) {
  Search search(machine, /*reduce=*/false, options);
  search.run(&found);
  for (auto &[key, one] : search.found())
    if (auto known = found.find(key);
        known != found.end() && one.path.size() < known->second.path.size())
      known->second = std::move(one);
}

std::vector<Explained> finish(const Machine &machine, FoundFaults &found) {
  std::vector<Explained> findings;
  for (auto &[key, one] : found) {
    addPath(one.explained.finding, machine, one.path, one.fault);
    findings.push_back(std::move(one.explained));
  }
  return findings;
}

} // namespace

Exploration explore(const Trace &trace, const ExploreOptions &options) {
  Machine machine(trace);
  Search search(machine, options.reduce, options);
  Exploration result;
  result.isExhaustive = search.run();
  result.isLate = search.isLate();
  result.isTooLarge = search.isTooLarge();
  result.states = search.states();
  if (!result.isExhaustive) {
    result.schedules = sampleSchedules(machine, search, options);
  }
  FoundFaults &found = search.found();
  dropConsequences(found, search.raced());
  if (!found.empty() && options.reduce)
    shorten(machine, found, options);
  result.findings = finish(machine, found);
  return result;
}

std::vector<Explained> exploreRun(const Recording &recording) {
  Trace trace = recording.trace;
  if (!recording.stuck.empty())
    trace.threads = recording.hypothetical; // the waits that are stuck, and what is behind them
  Machine machine(trace);
  ExploreOptions options;
  Search search(machine, /*reduce=*/true, options);
  search.follow(recording.order);
  dropConsequences(search.found(), search.raced());
  return finish(machine, search.found());
}

} // namespace ditron::checker
