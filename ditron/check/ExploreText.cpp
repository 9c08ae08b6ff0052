// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/check/ExploreText.h"
#include "ditron/support/Error.h"
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron::explorer {

using device::NotifyMode;
using device::Scope;

namespace {

const Step &stepAt(const Program &program, StepRef at) {
  return program.threads[at.thread].steps[at.step];
}

/// "adds 1 to signal 's'[0] of rank 1".
std::string describeNotify(const Program &program, const Step &step) {
  const CounterInfo &counter = program.counters[step.counter];
  if (counter.kind == CounterInfo::Kind::barrier)
    return "arrives at " + counter.name;
  if (counter.kind == CounterInfo::Kind::launch)
    return "ends the launch";
  switch (step.mode) {
  case NotifyMode::add:
    return fmt::format("adds {} to {}", step.value, counter.name);
  case NotifyMode::set:
    return fmt::format("raises {} to {}", counter.name, step.value);
  case NotifyMode::subtract:
    return fmt::format("subtracts {} from {}", step.value, counter.name);
  case NotifyMode::store:
    return fmt::format("stores {} in {}", step.value, counter.name);
  }
  throw InternalError("an unknown mode of dist.notify");
}

std::string describeWait(const Program &program, const Step &step) {
  return fmt::format("waits for {} to {} {}", program.counters[step.counter].name,
                     step.exact ? "be" : "reach", step.value);
}

std::string describeTouch(const Program &program, const Step &step, uint32_t memory, Span bytes) {
  bool writes = llvm::any_of(step.touches, [&](const Touch &touch) {
    return touch.memory == memory && touch.kind != Touch::Kind::read;
  });
  const MemoryInfo &info = program.memories[memory];
  return fmt::format("{}{} '{}' of rank {}, bytes {} to {}",
                     step.kind == Step::Kind::put ? "a put " : "", writes ? "writes" : "reads",
                     info.name, info.rank, bytes.begin, bytes.end - 1);
}

void locate(mlir::Operation *op, Party &party) {
  if (!op)
    return;
  party.op = op->getName().getStringRef().str();
  op->getLoc()->walk([&](mlir::Location part) {
    auto file = mlir::dyn_cast<mlir::FileLineColLoc>(part);
    if (!file)
      return mlir::WalkResult::advance();
    party.file = file.getFilename().str();
    party.line = file.getLine();
    return mlir::WalkResult::interrupt();
  });
}

Party partyOf(const Program &program, StepRef at, std::string what) {
  const Step &step = stepAt(program, at);
  Party party;
  party.what = std::move(what);
  party.rank = program.threads[at.thread].rank;
  party.core = program.threads[at.thread].core;
  party.role = step.role;
  party.launch = step.launch;
  party.tile = step.tile;
  locate(step.op, party);
  return party;
}

std::string sourceOf(const Step &step) {
  Party party;
  locate(step.op, party);
  return party.source();
}

/// "rank 1, core 0 reads 'b' of rank 1, bytes 0 to 3 (a.cpp:9)".
std::string brief(const Party &party) {
  return fmt::format("rank {}, core {} {} ({})", party.rank, party.core, party.what,
                     party.source());
}

//===-- Races ---------------------------------------------------------------------------------===//

/// The notify by which `from`'s thread could end a wait, after `from`.
const Step *notifyBehind(const Program &program, StepRef from, const Step &wait) {
  const std::vector<Step> &steps = program.threads[from.thread].steps;
  for (size_t s = from.step + 1; s < steps.size(); ++s)
    if (steps[s].kind == Step::Kind::notify && steps[s].counter == wait.counter)
      return &steps[s];
  return nullptr;
}

bool hasNotifierOfOtherRole(const Program &program, const Step &notify) {
  for (const Thread &thread : program.threads)
    for (const Step &step : thread.steps)
      if (step.kind == Step::Kind::notify && step.counter == notify.counter &&
          step.role != notify.role)
        return true;
  return false;
}

/// Why a wait between the two does not order them.
void explainSignal(const Program &program, const Fault &fault, Finding &finding) {
  StepRef from = fault.through->thread == fault.at.thread ? *fault.other : fault.at;
  const Step &wait = stepAt(program, *fault.through);
  const Step *notify = notifyBehind(program, from, wait);
  if (!notify)
    return;
  std::string waitText = fmt::format("the wait at {}", sourceOf(wait));
  Scope path =
      program.between(program.threads[from.thread], program.threads[fault.through->thread]);
  if (wait.relaxed) {
    finding.notes.push_back(waitText + " is relaxed: what follows is not ordered behind it");
  } else if (notify->relaxed) {
    if (stepAt(program, from).kind == Step::Kind::put)
      finding.kind = FindingKind::unfinishedPut;
    finding.notes.push_back(fmt::format("the notify at {} is relaxed: it can be seen before what "
                                        "stands before it",
                                        sourceOf(*notify)));
  } else if (path > std::min(notify->scope, wait.scope)) {
    finding.kind = FindingKind::narrowScope;
    finding.notes.push_back(
        fmt::format("the notify at {} has scope '{}' and {} scope '{}', but their path needs '{}'",
                    sourceOf(*notify), stringifyScope(notify->scope).str(), waitText,
                    stringifyScope(wait.scope).str(), stringifyScope(path).str()));
  } else {
    bool isShared = hasNotifierOfOtherRole(program, *notify);
    finding.kind = isShared ? FindingKind::sharedSignal : FindingKind::wrongNotifier;
    finding.notes.push_back(
        fmt::format("{} can be satisfied before the notify at {} that it needs, by others of {}",
                    waitText, sourceOf(*notify), program.counters[wait.counter].name));
    finding.parties.push_back(partyOf(program, *fault.through, describeWait(program, wait)));
  }
}

Finding race(const Program &program, const Fault &fault) {
  Finding finding;
  const Step &one = stepAt(program, fault.at), &other = stepAt(program, *fault.other);
  finding.parties = {
      partyOf(program, fault.at, describeTouch(program, one, fault.memory, fault.bytes)),
      partyOf(program, *fault.other, describeTouch(program, other, fault.memory, fault.bytes))};
  if (fault.isUnfinishedPut) {
    finding.kind = FindingKind::unfinishedPut;
    finding.notes.push_back(fmt::format(
        "the put at {} is complete after the next quiet or notify of its core, not before",
        sourceOf(other)));
  } else if (one.launch != other.launch && program.memories[fault.memory].isSymmetric) {
    finding.kind = FindingKind::workspaceReuse;
  } else if (fault.through) {
    explainSignal(program, fault, finding);
  }
  finding.message = fmt::format("{} and {}: nothing orders them", brief(finding.parties[0]),
                                brief(finding.parties[1]));
  return finding;
}

//===-- Deadlocks -----------------------------------------------------------------------------===//

/// What is left of the threads but one that changes a counter.
uint64_t addsLeft(const Machine &machine, const State &state, uint32_t thread, uint32_t counter,
                  std::string &who) {
  const Program &program = machine.program();
  uint64_t sum = 0;
  for (uint32_t t = 0; t < program.threads.size(); ++t) {
    if (t == thread)
      continue;
    uint64_t before = sum;
    for (size_t s = state.at[t]; s < program.threads[t].steps.size(); ++s) {
      const Step &step = program.threads[t].steps[s];
      if (step.kind == Step::Kind::notify && step.counter == counter &&
          step.mode != NotifyMode::subtract)
        sum += step.value;
    }
    if (sum != before)
      who += fmt::format("{}rank {}, core {}", who.empty() ? "" : "; ", program.threads[t].rank,
                         program.threads[t].core);
  }
  return sum;
}

FindingKind kindOf(const Program &program, const Step &wait, uint64_t value, uint64_t left) {
  if (wait.value <= value + left)
    return FindingKind::deadlock;
  return program.counters[wait.counter].kind == CounterInfo::Kind::barrier
             ? FindingKind::divergentBarrier
             : FindingKind::lostSignal;
}

Finding deadlock(const Machine &machine, const State &state) {
  const Program &program = machine.program();
  Finding finding;
  finding.kind = FindingKind::deadlock;
  std::vector<Party> causes, others, idle;
  for (uint32_t t = 0; t < program.threads.size(); ++t) {
    const Step *wait = machine.next(state, t);
    if (!wait)
      continue;
    uint64_t value = state.counters[wait->counter];
    std::string who;
    FindingKind kind =
        kindOf(program, *wait, value, addsLeft(machine, state, t, wait->counter, who));
    Party party = partyOf(program, {t, state.at[t]},
                          fmt::format("{}, it is {}", describeWait(program, *wait), value));
    std::string note = who.empty()
                           ? "nobody is left to notify it"
                           : fmt::format("could still be notified by {}, who wait too", who);
    if (wait->op)
      finding.notes.push_back(fmt::format("{}: {}", program.counters[wait->counter].name, note));
    bool isCause = kind != FindingKind::deadlock &&
                   (finding.kind == FindingKind::deadlock || kind == FindingKind::divergentBarrier);
    if (isCause) {
      finding.kind = kind;
      others.insert(others.begin(), causes.begin(), causes.end());
      causes.clear();
    }
    // Those who wait for a launch to start wait for what is found elsewhere: they come last.
    (isCause ? causes : wait->op ? others : idle).push_back(std::move(party));
  }
  for (auto *some : {&causes, &others, &idle})
    finding.parties.insert(finding.parties.end(), some->begin(), some->end());
  finding.message = fmt::format("{}: {} cores wait, {}", name(finding.kind), finding.parties.size(),
                                brief(finding.parties.front()));
  return finding;
}

} // namespace

Finding findingOf(const Machine &machine, const State &state, const Fault &fault) {
  const Program &program = machine.program();
  const Step *step = fault.kind == Fault::Kind::deadlock ? nullptr : &stepAt(program, fault.at);
  Finding finding;
  switch (fault.kind) {
  case Fault::Kind::race:
    return race(program, fault);
  case Fault::Kind::deadlock:
    return deadlock(machine, state);
  case Fault::Kind::narrowScope: {
    const Step &notify = stepAt(program, *fault.other);
    finding.kind = FindingKind::narrowScope;
    finding.parties = {partyOf(program, fault.at, describeWait(program, *step)),
                       partyOf(program, *fault.other, describeNotify(program, notify))};
    finding.message =
        fmt::format("{} at scope '{}' and {} at scope '{}': their path needs '{}'",
                    brief(finding.parties[0]), stringifyScope(step->scope).str(),
                    brief(finding.parties[1]), stringifyScope(notify.scope).str(),
                    stringifyScope(program.between(program.threads[fault.at.thread],
                                                   program.threads[fault.other->thread]))
                        .str());
    return finding;
  }
  case Fault::Kind::uninitializedRead:
    finding.kind = FindingKind::uninitializedRead;
    finding.parties = {
        partyOf(program, fault.at, describeTouch(program, *step, fault.memory, fault.bytes))};
    finding.message = brief(finding.parties[0]) + ", which nobody wrote in this launch";
    return finding;
  case Fault::Kind::negativeCounter:
    finding.kind = FindingKind::invalidProgram;
    finding.parties = {partyOf(program, fault.at, describeNotify(program, *step))};
    finding.message = fmt::format("{}, which is {}: a counter is never negative",
                                  brief(finding.parties[0]), state.counters[step->counter]);
    return finding;
  }
  throw InternalError("an unknown kind of fault");
}

std::string keyOf(const Program &program, const Fault &fault, const State &state) {
  std::vector<std::string> places;
  auto add = [&](StepRef at) {
    Party party = partyOf(program, at, "");
    places.push_back(fmt::format("{} {}:{}", party.op, party.file, party.line));
  };
  if (fault.kind == Fault::Kind::deadlock) {
    for (uint32_t t = 0; t < program.threads.size(); ++t)
      if (state.at[t] < program.threads[t].steps.size())
        add({t, state.at[t]});
  } else {
    add(fault.at);
    if (fault.other)
      add(*fault.other);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return fmt::format("{} {} {}", static_cast<int>(fault.kind), fault.isUnfinishedPut,
                     fmt::join(places, ", "));
}

//===-- Schedules -----------------------------------------------------------------------------===//

/// How far a thread is: an error counts as a step.
static uint32_t reached(const State &state, uint32_t thread) {
  return state.at[thread] + state.stopped[thread];
}

std::string scheduleOf(const Machine &machine, llvm::ArrayRef<uint32_t> path) {
  std::vector<Fault> faults;
  State state = machine.start(faults);
  std::string text;
  for (size_t i = 0; i < path.size(); ++i) {
    machine.advance(state, path[i], faults);
    if (i + 1 < path.size() && path[i + 1] == path[i])
      continue;
    const Thread &thread = machine.program().threads[path[i]];
    text += fmt::format("{}{}.{}:{}", text.empty() ? "" : " ", thread.rank, thread.core,
                        reached(state, path[i]));
  }
  return text;
}

std::vector<std::string> stepsOf(const Machine &machine, llvm::ArrayRef<uint32_t> path) {
  const Program &program = machine.program();
  std::vector<Fault> faults;
  State state = machine.start(faults);
  std::vector<std::string> lines;
  for (uint32_t thread : path) {
    StepRef at{thread, state.at[thread]};
    const Step &step = stepAt(program, at);
    std::string what = step.kind == Step::Kind::notify ? describeNotify(program, step)
                       : step.take ? describeWait(program, step) + " and takes it"
                                   : describeWait(program, step);
    uint64_t before = state.counters[step.counter];
    machine.advance(state, thread, faults);
    uint64_t after = state.counters[step.counter];
    std::string change =
        before == after ? fmt::format("it is {}", before) : fmt::format("{} -> {}", before, after);
    lines.push_back(fmt::format("{}: {}", brief(partyOf(program, at, std::move(what))), change));
  }
  return lines;
}

std::vector<uint32_t> pathOf(const Machine &machine, std::string_view schedule) {
  const Program &program = machine.program();
  std::vector<Fault> faults;
  State state = machine.start(faults);
  std::vector<uint32_t> path;
  const char *at = schedule.data(), *end = at + schedule.size();
  auto fail = [&](const std::string &why) {
    throw CompileError(fmt::format("schedule '{}': {}", schedule, why));
  };
  auto number = [&](char before) {
    int64_t value = 0;
    if (before && (at == end || *at++ != before))
      fail(fmt::format("expected '{}' at character {}", before, at - schedule.data()));
    auto [rest, error] = std::from_chars(at, end, value);
    if (error != std::errc())
      fail(fmt::format("expected a number at character {}", at - schedule.data() + 1));
    at = rest;
    return value;
  };
  while (at != end) {
    int64_t rank = number(path.empty() ? 0 : ' '), core = number('.'), to = number(':');
    auto found = llvm::find_if(program.threads, [&](const Thread &thread) {
      return thread.rank == rank && thread.core == core;
    });
    if (found == program.threads.end())
      fail(fmt::format("there is no core {} of rank {}", core, rank));
    auto thread = static_cast<uint32_t>(found - program.threads.begin());
    while (reached(state, thread) < to) {
      if (!machine.isEnabled(state, thread))
        fail(fmt::format("core {} of rank {} cannot go beyond {}", core, rank, state.at[thread]));
      machine.advance(state, thread, faults);
      path.push_back(thread);
    }
  }
  return path;
}

} // namespace ditron::explorer
