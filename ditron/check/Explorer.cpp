// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/check/Explorer.h"
#include "ditron/check/ExploreText.h"
#include "ditron/support/Error.h"
#include <deque>
#include <random>
#include <unordered_set>

namespace ditron::explorer {

using device::NotifyMode;
using Path = std::vector<uint32_t>;

namespace {

//===-- Which threads to follow ---------------------------------------------------------------===//

/// Chooses persistent sets.
class Reduction {
public:
  Reduction(const Machine &machine, const State &state) : machine_(machine), state_(state) {}

  /// The enabled threads to follow from the state, of `enabled`, which are all.
  Path choose(const Path &enabled) const {
    // Nobody can end what such a wait waits for, and the earlier it is, the less it orders.
    for (uint32_t t : enabled)
      if (const Step &step = *machine_.next(state_, t);
          step.kind == Step::Kind::wait && machine_.isMonotone(step.counter))
        return {t};
    Path best = enabled;
    for (uint32_t t : enabled) {
      Path set = closure(t);
      llvm::erase_if(set, [&](uint32_t one) { return !llvm::is_contained(enabled, one); });
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
        if (!llvm::is_contained(set, other) && mustFollow(set[i], other))
          set.push_back(other);
    return set;
  }

  bool isLeft(uint32_t thread, int64_t step) const {
    return step >= static_cast<int64_t>(state_.at[thread]);
  }

  /// Whether what a thread still has to do depends on the next step of one in the set, or could
  /// enable it.
  bool mustFollow(uint32_t member, uint32_t other) const {
    const Step *step = machine_.next(state_, member);
    if (!step || !machine_.next(state_, other))
      return false;
    const Machine::LastUse &last = machine_.lastUse(other, step->counter);
    bool waits = isLeft(other, last.wait), adds = isLeft(other, last.add),
         changes = isLeft(other, last.change);
    if (step->kind == Step::Kind::wait)
      return adds || changes || (step->take && waits);
    if (step->mode == NotifyMode::add)
      return changes || (waits && !machine_.isNeededByAll(state_, *step));
    return waits || adds || changes;
  }

  const Machine &machine_;
  const State &state_;
};

//===-- The search ----------------------------------------------------------------------------===//

/// A fault, and a path that leads there.
struct Found {
  Finding finding;
  Path path;
};
using FoundFaults = std::map<std::string, Found>;

class Search {
public:
  Search(const Machine &machine, bool reduce, uint64_t budget)
      : machine_(machine), reduce_(reduce), budget_(budget) {}

  /// Breadth first. False if the budget is spent before the end. Stops where `wanted`, if any, are
  /// all found.
  bool run(const FoundFaults *wanted = nullptr) {
    std::vector<Fault> faults;
    State first = machine_.start(faults);
    visit(std::move(first), 0, 0, faults);
    while (!queue_.empty()) {
      if (seen_.size() > budget_)
        return false;
      if (wanted && hasAll(*wanted))
        return true;
      auto [state, node] = std::move(queue_.front());
      queue_.pop_front();
      expand(state, node);
    }
    return true;
  }

  uint64_t states() const { return seen_.size(); }
  FoundFaults &found() { return found_; }

  /// One schedule; `pick` chooses of the enabled threads.
  template <class Pick> void sample(Pick pick) {
    std::vector<Fault> faults;
    State state = machine_.start(faults);
    Path path;
    note(state, faults, path);
    for (Path enabled = enabledOf(state); !enabled.empty(); enabled = enabledOf(state)) {
      uint32_t thread = pick(enabled);
      path.push_back(thread);
      faults.clear();
      machine_.advance(state, thread, faults);
      note(state, faults, path);
    }
    noteEnd(state, path);
  }

private:
  struct Node {
    uint32_t parent, thread;
  };

  bool hasAll(const FoundFaults &wanted) const {
    return llvm::all_of(wanted, [&](const auto &one) { return found_.count(one.first); });
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
    bool isNew = seen_.insert(state.key(machine_.tracksOrder())).second;
    if (!isNew && faults.empty())
      return;
    nodes_.push_back({parent, thread});
    auto node = static_cast<uint32_t>(nodes_.size() - 1);
    note(state, faults, pathTo(node)); // one state can be reached with a fault and without
    if (isNew)
      queue_.emplace_back(std::move(state), node);
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
      std::string key = keyOf(machine_.program(), fault, state);
      auto found = found_.find(key);
      if (found != found_.end() && found->second.path.size() <= path.size())
        continue;
      found_[key] = {findingOf(machine_, state, fault), path};
    }
  }

  /// Nobody can go on: all are done, or it is a deadlock, or one has stopped by an error.
  void noteEnd(const State &state, const Path &path) {
    if (llvm::is_contained(state.stopped, 1))
      return;
    for (uint32_t t = 0; t < state.at.size(); ++t)
      if (machine_.next(state, t))
        return note(state, {{.kind = Fault::Kind::deadlock, .at = {t, state.at[t]}}}, path);
  }

  const Machine &machine_;
  bool reduce_;
  uint64_t budget_;
  std::vector<Node> nodes_;
  std::deque<std::pair<State, uint32_t>> queue_;
  std::unordered_set<std::string> seen_;
  FoundFaults found_;
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

void sampleSchedules(const Machine &machine, Search &search, const ExploreOptions &options) {
  uint64_t length = 0;
  for (const Thread &thread : machine.program().threads)
    length += llvm::count_if(thread.steps, [](const Step &step) {
      return step.kind == Step::Kind::notify || step.kind == Step::Kind::wait;
    });
  for (int64_t i = 0; i < options.schedules; ++i) {
    std::mt19937_64 random(options.seed * 1'000'003 + static_cast<uint64_t>(i));
    if (i % 2)
      search.sample(Priorities(random, machine.program().threads.size(), length));
    else
      search.sample([&](const Path &enabled) { return enabled[random() % enabled.size()]; });
  }
}

//===-- Together ------------------------------------------------------------------------------===//

/// What is read before it is written in a race is the race's.
void dropConsequences(FoundFaults &found) {
  auto isRaced = [&](const Finding &read) {
    return llvm::any_of(found, [&](const auto &one) {
      const Finding &other = one.second.finding;
      return other.kind != FindingKind::uninitializedRead &&
             llvm::any_of(other.parties, [&](const Party &party) {
               return party.line == read.parties[0].line && party.op == read.parties[0].op;
             });
    });
  };
  for (auto one = found.begin(); one != found.end();) {
    bool drop =
        one->second.finding.kind == FindingKind::uninitializedRead && isRaced(one->second.finding);
    one = drop ? found.erase(one) : std::next(one);
  }
}

/// Replaces what was found by the same with the shortest path, where the budget reaches.
void shorten(const Machine &machine, FoundFaults &found, uint64_t budget) {
  Search search(machine, /*reduce=*/false, budget);
  search.run(&found);
  for (auto &[key, one] : search.found())
    if (auto known = found.find(key);
        known != found.end() && one.path.size() < known->second.path.size())
      known->second = std::move(one);
}

} // namespace

Exploration explore(const Program &program, const ExploreOptions &options) {
  Machine machine(program);
  Search search(machine, options.reduce, options.states);
  Exploration result;
  if (!program.isFixed) {
    size_t next = 0; // first the schedule that was run
    search.sample([&](const Path &enabled) {
      while (next < program.order.size() && !llvm::is_contained(enabled, program.order[next]))
        ++next;
      return next < program.order.size() ? program.order[next++] : enabled.front();
    });
  }
  bool isComplete = search.run();
  result.states = search.states();
  if (!isComplete) {
    sampleSchedules(machine, search, options);
    result.schedules = static_cast<uint64_t>(options.schedules);
  }
  result.method = isComplete && program.isFixed ? Method::exhaustive : Method::sampled;
  FoundFaults &found = search.found();
  dropConsequences(found);
  if (!found.empty() && options.reduce)
    shorten(machine, found, options.states);
  for (auto &[key, one] : found) {
    one.finding.schedule = scheduleOf(machine, one.path);
    one.finding.steps = stepsOf(machine, one.path);
    result.findings.push_back(std::move(one.finding));
  }
  return result;
}

Exploration explore(mlir::func::FuncOp kernel,
                    const std::vector<std::vector<reference::ArgumentValue>> &arguments,
                    const reference::Options &options, const ExploreOptions &exploreOptions,
                    int64_t runs) {
  Exploration result;
  std::set<std::string> messages;
  bool isFixed = !dependsOnMemory(kernel);
  for (int64_t run = 0; run < (isFixed ? 1 : runs); ++run) {
    reference::Options one = options;
    one.seed = options.seed + static_cast<uint64_t>(run);
    Exploration found = explore(record(kernel, arguments, one), exploreOptions);
    result.method = found.method;
    result.states += found.states;
    result.schedules += found.schedules + (isFixed ? 0 : 1);
    for (Finding &finding : found.findings)
      if (messages.insert(finding.message).second)
        result.findings.push_back(std::move(finding));
  }
  return result;
}

std::vector<std::string> follow(const Program &program, std::string_view schedule) {
  Machine machine(program);
  return stepsOf(machine, pathOf(machine, schedule));
}

} // namespace ditron::explorer
