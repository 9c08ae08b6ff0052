// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/report/ExploreText.h"
#include "ditron/checker/report/Describe.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace ditron::checker {

namespace {

std::string_view name(Scope scope) {
  constexpr std::string_view kNames[] = {"core", "device", "system", "network"};
  return kNames[static_cast<int>(scope)];
}

uint32_t opAt(const Trace &trace, Position at) { return trace.siteOf(trace.at(at)).op; }

Party partyAt(const Trace &trace, Position at) { return partyOf(trace, at.thread, trace.at(at)); }

//===-- Races ---------------------------------------------------------------------------------===//

/// The notifies of a counter but one.
std::vector<Position> otherNotifies(const Trace &trace, Position notify) {
  std::vector<Position> others;
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    for (uint32_t i = 0; i < trace.threads[t].size(); ++i)
      if (const Event &event = trace.threads[t][i];
          event.isRelease() && event.object == trace.at(notify).object && Position{t, i} != notify)
        others.push_back({t, i});
  return others;
}

/// Why a wait between the two does not order them.
void explainLink(Explained &result, const Trace &trace, const ToldRace &race) {
  Finding &finding = result.finding;
  const Event &wait = trace.at(race.link->wait), &notify = trace.at(race.link->notify);
  std::string waitText = fmt::format("the wait at {}", partyAt(trace, race.link->wait).source()),
              notifyText =
                  fmt::format("the notify at {}", partyAt(trace, race.link->notify).source());
  Scope path = trace.between(race.link->notify.thread, race.link->wait.thread);
  if (wait.isRelaxed) {
    finding.notes.push_back(waitText + " is relaxed: what follows is not ordered behind it");
  } else if (notify.isRelaxed) {
    if (trace.at(race.first).isPut())
      finding.kind = FindingKind::unfinishedPut;
    finding.notes.push_back(notifyText +
                            " is relaxed: it can be seen before what stands before it");
  } else if (path > std::min(notify.scope, wait.scope)) {
    finding.kind = FindingKind::narrowScope;
    finding.notes.push_back(fmt::format("{} has scope '{}' and {} scope '{}', but their path needs "
                                        "'{}'",
                                        notifyText, name(notify.scope), waitText, name(wait.scope),
                                        name(path)));
  } else {
    finding.notes.push_back(fmt::format("{} can be satisfied before {} that it needs, by others of "
                                        "{}",
                                        waitText, notifyText, trace.counters[wait.object].name));
    addWrongWait(result, trace, *race.link, otherNotifies(trace, race.link->notify));
  }
}

Explained explainRace(const Trace &trace, const Fault &fault) {
  if (fault.at.thread == fault.other->thread) {
    auto [put, access] = std::minmax(fault.at, *fault.other);
    return describeUnfinished(trace, put, access, fault.bytes);
  }
  ToldRace told = tell(trace, {*fault.other, fault.at, fault.bytes});
  Explained result = describeRace(trace, told, fault.bytes);
  if (fault.isUnfinishedPut) {
    result.finding.kind = FindingKind::unfinishedPut;
    result.finding.notes.push_back(
        fmt::format("the put at {} is complete after the next quiet or notify of its core, not "
                    "before",
                    partyAt(trace, *fault.other).source()));
  } else if (told.link && result.finding.kind == FindingKind::dataRace) {
    explainLink(result, trace, told);
  }
  return result;
}

//===-- Deadlocks -----------------------------------------------------------------------------===//

/// By how much a counter can still grow, and by whom.
struct Left {
  uint64_t sum = 0;
  std::vector<std::string> who;
};

Left leftFor(const Machine &machine, const State &state, uint32_t waiter, uint32_t counter) {
  const Trace &trace = machine.trace();
  Left left;
  for (uint32_t t = 0; t < trace.threads.size(); ++t) {
    uint64_t before = left.sum;
    for (uint32_t i = state.at[t]; t != waiter && i < trace.threads[t].size(); ++i)
      if (const Event &event = trace.threads[t][i];
          event.isRelease() && event.object == counter && event.kind != Event::Kind::notifySubtract)
        left.sum += event.value;
    if (left.sum != before)
      left.who.push_back(fmt::format("rank {}, core {}", t / trace.cores, t % trace.cores));
  }
  return left;
}

/// One of those who wait in a state in which nobody can go on.
struct Waiter {
  Party party;
  std::string note;
  uint32_t op;
  FindingKind kind; ///< deadlock, unless what is left does not suffice
  bool isIdle;      ///< for a launch to start: what it waits for is found elsewhere
};

Waiter waiterOf(const Machine &machine, const State &state, uint32_t thread) {
  const Trace &trace = machine.trace();
  const Event &wait = *machine.next(state, thread);
  const Trace::Counter &counter = trace.counters[wait.object];
  uint64_t value = state.counters[wait.object];
  Left left = leftFor(machine, state, thread, wait.object);
  Waiter waiter;
  waiter.party = partyAt(trace, {thread, state.at[thread]});
  waiter.party.what += fmt::format(", it is {}", value);
  waiter.op = trace.siteOf(wait).op;
  waiter.isIdle = counter.kind == Trace::Counter::Kind::launch;
  waiter.kind = wait.value <= value + left.sum                  ? FindingKind::deadlock
                : counter.kind == Trace::Counter::Kind::barrier ? FindingKind::divergentBarrier
                                                                : FindingKind::lostSignal;
  waiter.note = left.who.empty() ? counter.name + ": nobody is left to notify it"
                                 : fmt::format("{} could still be notified by {}, who wait too",
                                               counter.name, fmt::join(left.who, "; "));
  return waiter;
}

/// The thread's next event, where it waits for a core to end so that it can start.
bool isUnstarted(const Machine &machine, const State &state, uint32_t thread) {
  const Event *next = machine.next(state, thread);
  return next && machine.trace().waitsForResidence(thread, *next);
}

/// Where nobody can go on because cores cannot start: who waits for them, and they.
struct Residence {
  std::vector<Position> waiting, starting;
};

/// Lets the cores start that cannot, and sees who goes on then.
std::optional<Residence> findResidence(const Machine &machine, const State &state) {
  Residence found;
  std::vector<Position> blocked;
  State after = state;
  std::vector<Fault> ignored;
  for (uint32_t t = 0; t < state.at.size(); ++t)
    if (machine.next(state, t))
      (isUnstarted(machine, state, t) ? found.starting : blocked).push_back({t, state.at[t]});
  for (bool goesOn = !found.starting.empty(); goesOn;) {
    goesOn = false;
    for (uint32_t t = 0; t < after.at.size(); ++t)
      while (machine.next(after, t) &&
             (machine.isEnabled(after, t) || isUnstarted(machine, after, t))) {
        machine.advance(after, t, ignored);
        goesOn = true;
      }
  }
  for (Position at : blocked)
    if (after.at[at.thread] != at.index &&
        machine.trace().counters[machine.trace().at(at).object].kind !=
            Trace::Counter::Kind::launch)
      found.waiting.push_back(at);
  return found.waiting.empty() ? std::nullopt : std::optional(found);
}

Explained explainDeadlock(const Machine &machine, const State &state) {
  if (auto found = findResidence(machine, state))
    return describeResidence(machine.trace(), found->waiting, found->starting);
  std::vector<Waiter> waiters;
  for (uint32_t t = 0; t < state.at.size(); ++t)
    if (machine.next(state, t))
      waiters.push_back(waiterOf(machine, state, t));
  // Barriers that cannot fill come first, then what cannot be reached, then the other waits.
  auto rank = [](const Waiter &waiter) {
    return waiter.isIdle                                  ? 3
           : waiter.kind == FindingKind::divergentBarrier ? 0
           : waiter.kind == FindingKind::lostSignal       ? 1
                                                          : 2;
  };
  std::vector<Waiter> sorted;
  for (int place = 0; place < 4; ++place)
    for (const Waiter &waiter : waiters)
      if (rank(waiter) == place)
        sorted.push_back(waiter);
  Explained result;
  Finding &finding = result.finding;
  finding.kind = sorted.front().kind;
  for (const Waiter &waiter : sorted) {
    finding.parties.push_back(waiter.party);
    result.ops.push_back(waiter.op);
    if (!waiter.isIdle)
      finding.notes.push_back(waiter.note);
  }
  const Party &first = finding.parties.front();
  finding.message = waiters.size() == 1
                        ? fmt::format("rank {}, core {} waits at {}, and nobody can go on",
                                      first.rank, first.core, first.source())
                        : fmt::format("{} cores wait and nobody can go on, the first at {}",
                                      waiters.size(), first.source());
  return result;
}

//===-- One place -----------------------------------------------------------------------------===//

Explained explainNegative(const Machine &machine, const State &state, const Fault &fault) {
  const Trace &trace = machine.trace();
  Explained result;
  Finding &finding = result.finding;
  finding.kind = FindingKind::invalidProgram;
  finding.parties = {partyAt(trace, fault.at)};
  result.ops = {opAt(trace, fault.at)};
  const Event &event = trace.at(fault.at);
  finding.message =
      fmt::format("{}: subtracts {} from {}, which is {}: a counter is never negative",
                  finding.parties[0].source(), event.value, trace.counters[event.object].name,
                  state.counters[event.object]);
  return result;
}

} // namespace

Explained explainFault(const Machine &machine, const State &state, const Fault &fault) {
  switch (fault.kind) {
  case Fault::Kind::race:
    return explainRace(machine.trace(), fault);
  case Fault::Kind::deadlock:
    return explainDeadlock(machine, state);
  case Fault::Kind::narrowScope:
    return explainScope(machine.trace(), {fault.at, *fault.other});
  case Fault::Kind::uninitializedRead:
    return describeUndefined(machine.trace(), {fault.at, fault.bytes});
  case Fault::Kind::negativeCounter:
    return explainNegative(machine, state, fault);
  }
  throw InternalError("an unknown kind of fault");
}

std::string keyOf(const Machine &machine, const Fault &fault, const State &state) {
  const Trace &trace = machine.trace();
  std::set<uint32_t> ops;
  if (fault.kind == Fault::Kind::deadlock) {
    for (uint32_t t = 0; t < trace.threads.size(); ++t)
      if (state.at[t] < trace.threads[t].size())
        ops.insert(opAt(trace, {t, state.at[t]}));
  } else {
    ops.insert(opAt(trace, fault.at));
    if (fault.other)
      ops.insert(opAt(trace, *fault.other));
  }
  // Whether a read is undefined because it races is said of each one, not of its op.
  std::string place = fault.kind == Fault::Kind::uninitializedRead
                          ? fmt::format(" at {}.{}", fault.at.thread, fault.at.index)
                          : "";
  return fmt::format("{} {} {}{}", static_cast<int>(fault.kind), fault.isUnfinishedPut,
                     fmt::join(ops, ", "), place);
}

//===-- Schedules -----------------------------------------------------------------------------===//

namespace {

/// A path as it is written down.
class Telling {
public:
  Telling(const Trace &trace, Finding &finding) : trace_(trace), finding_(finding) {}
  ~Telling() { finding_.schedule = toText(schedule_, trace_.cores); }

  void add(Position at, const std::string &change) {
    Party party = partyAt(trace_, at);
    party.what += change;
    finding_.steps.push_back(describe(party));
    if (!schedule_.empty() && schedule_.back().thread == at.thread)
      schedule_.back().position = at.index + 1;
    else
      schedule_.push_back({at.thread, at.index + 1});
  }

private:
  const Trace &trace_;
  Finding &finding_;
  Schedule schedule_;
};

} // namespace

void addPath(Finding &finding, const Machine &machine, const std::vector<uint32_t> &path,
             const Fault &fault) {
  const Trace &trace = machine.trace();
  std::vector<Fault> faults;
  State state = machine.start(faults);
  Telling telling(trace, finding);
  // What a thread does up to its next notify or wait is left out, but for the accesses of the
  // fault.
  std::vector<Position> accesses;
  for (std::optional<Position> at : {fault.other, std::optional(fault.at)})
    if (at && trace.at(*at).isAccess())
      accesses.push_back(*at);
  auto tellAccesses = [&](auto isDue) {
    for (Position access : accesses)
      if (isDue(access))
        telling.add(access, "");
    std::erase_if(accesses, isDue);
  };
  for (uint32_t thread : path) {
    Position at{thread, state.at[thread]};
    tellAccesses([&](Position one) { return one.thread == thread && one.index < at.index; });
    uint32_t counter = trace.at(at).object;
    uint64_t before = state.counters[counter];
    machine.advance(state, thread, faults);
    uint64_t after = state.counters[counter];
    telling.add(at, before == after ? fmt::format(", it is {}", before)
                                    : fmt::format(", {} -> {}", before, after));
  }
  tellAccesses([](Position) { return true; });
}

} // namespace ditron::checker
