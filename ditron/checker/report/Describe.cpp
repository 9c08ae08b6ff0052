// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/report/Describe.h"
#include <fmt/format.h>

namespace ditron::checker {

namespace {

std::string describeSync(const Trace::Counter &counter, const Event &event) {
  using Kind = Event::Kind;
  switch (event.kind) {
  case Kind::wait:
    return fmt::format("waits for {} to {} {}{}", counter.name, event.isExact ? "be" : "reach",
                       event.value, event.takes ? " and takes it" : "");
  case Kind::notifySet:
    return fmt::format("raises {} to {}", counter.name, event.value);
  case Kind::notifySubtract:
    return fmt::format("subtracts {} from {}", event.value, counter.name);
  case Kind::notifyStore:
    return fmt::format("stores {} in {}", event.value, counter.name);
  default:
    break;
  }
  switch (counter.kind) {
  case Trace::Counter::Kind::barrier:
    return fmt::format("arrives at {}", counter.name);
  case Trace::Counter::Kind::launch:
    return "ends the launch";
  case Trace::Counter::Kind::signal:
    break;
  }
  return fmt::format("notifies {} by {}", counter.name, event.value);
}

} // namespace

std::string describeAction(const Trace &trace, const Event &event, std::optional<Bytes> bytes) {
  using Kind = Event::Kind;
  if (event.isSync())
    return describeSync(trace.counters[event.object], event);
  if (!event.isAccess())
    return event.kind == Kind::fence ? "orders its puts" : "completes its puts";
  const Trace::Memory &memory = trace.memoryOf(event);
  if (!bytes && !trace.footprints.isEmpty(event.object))
    bytes = {trace.footprints.runs(event.object).front().first,
             trace.footprints.runs(event.object).back().limit};
  std::string place = fmt::format("'{}' of rank {}", memory.name, memory.rank);
  if (bytes)
    place = fmt::format("bytes {} to {} of {}", bytes->first, bytes->limit - 1, place);
  switch (event.kind) {
  case Kind::read:
    return "reads " + place;
  case Kind::write:
    return "writes " + place;
  case Kind::atomic:
    return "adds to " + place;
  case Kind::putSource:
    return "puts from " + place;
  default:
    return "puts to " + place;
  }
}

Party partyOf(const Trace &trace, uint32_t thread, const Event &event, std::string what) {
  const Trace::Site &site = trace.siteOf(event);
  const Trace::Op &op = trace.ops[site.op];
  Party party;
  party.what = what.empty() ? describeAction(trace, event) : std::move(what);
  party.rank = thread / trace.cores;
  party.core = thread % trace.cores;
  party.role = trace.roles[site.role];
  party.launch = event.launch;
  party.tile = site.tile;
  party.op = op.name;
  party.file = op.file;
  party.line = op.line;
  return party;
}

std::string coresWait(size_t cores) {
  return fmt::format("{} core{} wait{}", cores, cores == 1 ? "" : "s", cores == 1 ? "s" : "");
}

std::string describe(const Party &party) {
  return fmt::format("{}: {} ({})", party.who(), party.what, party.source());
}

std::vector<std::string> describeSchedule(const Trace &trace, const Schedule &schedule) {
  std::vector<std::string> lines;
  std::vector<uint32_t> at(trace.threads.size(), 0);
  for (const Segment &segment : schedule) {
    if (segment.position > trace.threads[segment.thread].size()) {
      lines.push_back(fmt::format("rank {}, core {}: goes on, and fails",
                                  segment.thread / trace.cores, segment.thread % trace.cores));
      continue;
    }
    uint32_t count = segment.position - std::exchange(at[segment.thread], segment.position);
    const Event &last = trace.threads[segment.thread][segment.position - 1];
    Party party = partyOf(trace, segment.thread, last);
    lines.push_back(fmt::format("rank {}, core {}: {} event{}, the last {} ({})", party.rank,
                                party.core, count, count == 1 ? "" : "s", party.what,
                                party.source()));
  }
  return lines;
}

} // namespace ditron::checker
