// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/report/Explain.h"
#include "ditron/checker/report/Describe.h"
#include "ditron/device/DistOps.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace ditron::checker {

namespace {

std::string sourceOf(const Trace &trace, Position at) {
  return partyOf(trace, at.thread, trace.at(at), " ").source();
}

std::string whoIs(const Trace &trace, uint32_t thread) {
  return fmt::format("rank {}, core {}", thread / trace.cores, thread % trace.cores);
}

/// The same with role, launch and tile.
std::string whoAt(const Trace &trace, Position at) {
  return partyOf(trace, at.thread, trace.at(at), " ").who();
}

uint32_t opNumber(const Trace &trace, Position at) { return trace.siteOf(trace.at(at)).op; }

/// Adds the schedule to a finding: to `targets`, then `last` one after the other.
void addSchedule(Finding &finding, const Trace &trace, const std::vector<Position> &targets,
                 const std::vector<Position> &last) {
  Schedule schedule = shortestTo(trace, targets);
  for (Position at : last)
    schedule.push_back({at.thread, at.index + 1});
  finding.schedule = toText(schedule, trace.cores);
  finding.steps = describeSchedule(trace, schedule);
}

//===-- Races ---------------------------------------------------------------------------------===//

const char *verbOf(const Event &event) {
  switch (event.kind) {
  case Event::Kind::read:
    return "read";
  case Event::Kind::write:
    return "written";
  case Event::Kind::atomic:
    return "added to";
  case Event::Kind::putSource:
    return "put from";
  default:
    return "put to";
  }
}

/// The notifies that satisfy the wait of a link without the link's.
std::vector<Position> otherNotifies(const Trace &trace, const Causality &causality,
                                    const Link &link, Position stopped) {
  std::vector<Position> others;
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    for (uint32_t i = 0; i < causality.reach(stopped, t); ++i)
      if (const Event &event = trace.threads[t][i];
          event.isRelease() && event.object == trace.at(link.wait).object)
        others.push_back({t, i});
  return others;
}

std::string listNotifies(const Trace &trace, const std::vector<Position> &notifies) {
  std::string text;
  for (size_t i = 0; i < notifies.size() && i < 3; ++i)
    text += fmt::format("{}{} ({})", i ? "; " : "", whoAt(trace, notifies[i]),
                        sourceOf(trace, notifies[i]));
  if (notifies.size() > 3)
    text += fmt::format("; and {} more", notifies.size() - 3);
  return text;
}

/// Whether two cores of a rank do the same outside of tiles().
bool isOfEveryCore(const Trace &trace, Position one, Position other) {
  const Event &first = trace.at(one), &second = trace.at(other);
  return trace.siteOf(first).op == trace.siteOf(second).op && first.writes() && second.writes() &&
         first.launch == second.launch && trace.rankOf(one.thread) == trace.rankOf(other.thread) &&
         trace.siteOf(first).tile.empty();
}

/// Says why a wait that looks as if it gave order does not.
void explainLink(Explained &result, const Trace &trace, const Causality &causality,
                 const ToldRace &race) {
  const Link &link = *race.link;
  const Event &wait = trace.at(link.wait);
  std::string what = fmt::format("the wait at {} for {} to reach {}", sourceOf(trace, link.wait),
                                 trace.counters[wait.object].name, wait.value);
  if (wait.value == 0) {
    result.ops.push_back(opNumber(trace, link.wait));
    result.finding.notes.push_back(what + " passes at once");
    return;
  }
  std::vector<Position> others = otherNotifies(trace, causality, link, race.first);
  result.finding.notes.push_back(fmt::format(
      "{} passes without the notify of {} at {}: it is satisfied by {}", what,
      whoAt(trace, link.notify), sourceOf(trace, link.notify), listNotifies(trace, others)));
  addWrongWait(result, trace, link, others);
}

} // namespace

Explained describeRace(const Trace &trace, const ToldRace &race, Bytes bytes) {
  const Event &one = trace.at(race.first), &other = trace.at(race.second);
  const Trace::Memory &memory = trace.memoryOf(one);
  Explained result;
  result.ops = {opNumber(trace, race.first), opNumber(trace, race.second)};
  result.memory = memory.name;
  Finding &finding = result.finding;
  bool isAcross = memory.isSymmetric && one.launch != other.launch;
  finding.kind = isAcross || race.isReuse ? FindingKind::workspaceReuse : FindingKind::dataRace;
  std::string what = fmt::format("'{}' of rank {} is", memory.name, memory.rank);
  finding.message =
      race.isReuse
          ? fmt::format("{} {} at {}{} while it may still be {} at {}", what, verbOf(other),
                        sourceOf(trace, race.second), isAcross ? ", in a later launch," : "",
                        verbOf(one), sourceOf(trace, race.first))
          : fmt::format("{} {} at {} and {} at {}, {}", what, verbOf(one),
                        sourceOf(trace, race.first), verbOf(other), sourceOf(trace, race.second),
                        isAcross ? "by two launches with no order between them"
                                 : "with no order between them");
  for (Position at : {race.first, race.second})
    finding.parties.push_back(
        partyOf(trace, at.thread, trace.at(at), describeAction(trace, trace.at(at), bytes)));
  return result;
}

Explained describeUnfinished(const Trace &trace, Position put, Position access, Bytes bytes) {
  const Trace::Memory &memory = trace.memoryOf(trace.at(put));
  bool isSame = trace.at(access).continues && access.index == put.index + 1;
  Explained result;
  result.ops = {opNumber(trace, put), opNumber(trace, access)};
  result.memory = memory.name;
  Finding &finding = result.finding;
  finding.kind = FindingKind::unfinishedPut;
  finding.message =
      isSame ? fmt::format("source and destination of the put at {} overlap in '{}' of rank {}",
                           sourceOf(trace, put), memory.name, memory.rank)
             : fmt::format("'{}' of rank {} is {} at {} before the put at {} is complete",
                           memory.name, memory.rank, verbOf(trace.at(access)),
                           sourceOf(trace, access), sourceOf(trace, put));
  for (Position at : {put, access})
    finding.parties.push_back(
        partyOf(trace, at.thread, trace.at(at), describeAction(trace, trace.at(at), bytes)));
  if (!isSame)
    finding.notes.push_back("a put is complete at the next notify, quiet or barrier of its core: "
                            "there is none between the two");
  return result;
}

void addWrongWait(Explained &race, const Trace &trace, const Link &link,
                  const std::vector<Position> &others) {
  race.ops.push_back(opNumber(trace, link.wait));
  race.finding.parties.push_back(partyOf(trace, link.wait.thread, trace.at(link.wait)));
  uint32_t role = trace.siteOf(trace.at(link.notify)).role;
  bool isShared = std::any_of(others.begin(), others.end(), [&](Position other) {
    return trace.siteOf(trace.at(other)).role != role;
  });
  if (race.finding.kind == FindingKind::dataRace)
    race.finding.kind = isShared ? FindingKind::sharedSignal : FindingKind::wrongNotifier;
}

Explained explainRace(const Trace &trace, const Causality &causality, const Race &race) {
  if (race.first.thread == race.second.thread) {
    auto [put, access] = std::minmax(race.first, race.second);
    Explained result = describeUnfinished(trace, put, access, race.bytes);
    addSchedule(result.finding, trace, {startOf(trace, access)}, {access});
    return result;
  }
  ToldRace told = tell(trace, race, &causality);
  auto [first, second, link, isReuse] = told;
  Explained result = describeRace(trace, told, race.bytes);
  Finding &finding = result.finding;
  if (link)
    explainLink(result, trace, causality, told);
  else
    finding.notes.push_back(fmt::format("nothing that {} notifies behind {} is waited for by {} "
                                        "before {}",
                                        whoIs(trace, first.thread), sourceOf(trace, first),
                                        whoIs(trace, second.thread), sourceOf(trace, second)));
  if (isOfEveryCore(trace, first, second))
    finding.notes.push_back(
        "every core executes this: deal the work by tiles(), or let one core do "
        "it, when(coreId() == 0, ...)");
  if (race.pairs > 1)
    finding.notes.push_back(race.pairs == 2
                                ? "1 more pair of these two races"
                                : fmt::format("{} more pairs of these two race", race.pairs - 1));
  addSchedule(finding, trace, {startOf(trace, first), startOf(trace, second)}, {second, first});
  return result;
}

//===-- One access ----------------------------------------------------------------------------===//

Explained describeUndefined(const Trace &trace, const UndefinedRead &read) {
  const Event &event = trace.at(read.at);
  const Trace::Memory &memory = trace.memoryOf(event);
  Explained result;
  result.ops = {opNumber(trace, read.at)};
  result.memory = memory.name;
  Finding &finding = result.finding;
  finding.kind = FindingKind::uninitializedRead;
  finding.message = fmt::format("'{}' of rank {} is {} at {}, but nobody wrote it in this launch",
                                memory.name, memory.rank, verbOf(event), sourceOf(trace, read.at));
  finding.parties = {
      partyOf(trace, read.at.thread, event, describeAction(trace, event, read.bytes))};
  return result;
}

Explained explainUndefined(const Trace &trace, const UndefinedRead &read) {
  Explained result = describeUndefined(trace, read);
  addSchedule(result.finding, trace, {startOf(trace, read.at)}, {read.at});
  return result;
}

Explained describeFailure(const Trace &trace, const Failure &failure) {
  Explained result;
  result.ops = {trace.siteOf(failure.event).op};
  Finding &finding = result.finding;
  Party party = partyOf(trace, failure.thread, failure.event, failure.message);
  auto says = [&](const char *part) { return failure.message.find(part) != std::string::npos; };
  bool isAllocation = party.op == "dist.symmetric" || party.op == "dist.signals";
  finding.kind =
      isAllocation && says("on rank") ? FindingKind::unevenAllocation
      : party.op == "dist.barrier"    ? FindingKind::divergentBarrier
      : says(" names ") || says(" takes ") || says(" touches ") || says(" moves a chunk ")
          ? FindingKind::outOfBounds
          : FindingKind::invalidProgram;
  finding.message = fmt::format("{}: {}", party.source(), failure.message);
  finding.parties = {std::move(party)};
  return result;
}

Explained explainFailure(const Trace &trace, const Failure &failure) {
  Explained result = describeFailure(trace, failure);
  auto next = static_cast<uint32_t>(trace.threads[failure.thread].size());
  addSchedule(result.finding, trace, {{failure.thread, next}}, {{failure.thread, next}});
  return result;
}

//===-- Scopes --------------------------------------------------------------------------------===//

Explained explainScope(const Trace &trace, const ScopeFault &fault) {
  auto name = [](Scope scope) {
    return device::stringifyScope(static_cast<device::Scope>(scope)).str();
  };
  Explained result;
  Finding &finding = result.finding;
  finding.kind = FindingKind::narrowScope;
  for (Position at : {fault.wait, fault.notify}) {
    finding.parties.push_back(partyOf(trace, at.thread, trace.at(at)));
    result.ops.push_back(opNumber(trace, at));
  }
  finding.message = fmt::format(
      "the wait at {} has scope '{}' and the notify at {} scope '{}': their path needs '{}'",
      finding.parties[0].source(), name(trace.at(fault.wait).scope), finding.parties[1].source(),
      name(trace.at(fault.notify).scope),
      name(trace.between(fault.wait.thread, fault.notify.thread)));
  return result;
}

//===-- Copy engines --------------------------------------------------------------------------===//

Explained explainSenders(const Trace &trace, const SenderFault &fault) {
  Explained result;
  result.finding.kind = FindingKind::severalSenders;
  for (Position at : {fault.first, fault.second}) {
    result.finding.parties.push_back(partyOf(trace, at.thread, trace.at(at)));
    result.ops.push_back(opNumber(trace, at));
  }
  const Event &notify = trace.at(fault.second);
  result.finding.message =
      fmt::format("{}: the copy engines of ranks {} and {} notify {}: they write words and cannot "
                  "add, expected a counter for each sender",
                  result.finding.parties.back().source(), trace.rankOf(fault.first.thread),
                  trace.rankOf(fault.second.thread), trace.counters[notify.object].name);
  return result;
}

Explained explainStrayNotify(const Trace &trace, const StrayNotify &stray) {
  Explained result;
  result.finding.kind = FindingKind::strayNotify;
  const Event &notify = trace.at(stray.notify);
  result.finding.parties.push_back(partyOf(trace, stray.notify.thread, notify));
  result.ops.push_back(opNumber(trace, stray.notify));
  const Trace::Counter &counter = trace.counters[notify.object];
  result.finding.message =
      fmt::format("{}: {} may notify {} {}", result.finding.parties.back().source(),
                  whoIs(trace, stray.notify.thread), counter.name,
                  stray.isEarly ? "before that rank has begun the launch"
                                : "when that rank has ended the launch");
  result.finding.notes.push_back(
      "copy engines use the signal: on GPUs it has one place in all launches, and each clears it "
      "at its end");
  result.finding.notes.push_back(
      stray.isEarly ? fmt::format("the notify waits for nothing that rank {} does in this launch",
                                  counter.rank)
                    : fmt::format("nothing that rank {} does in this launch waits for the notify",
                                  counter.rank));
  return result;
}

} // namespace ditron::checker
