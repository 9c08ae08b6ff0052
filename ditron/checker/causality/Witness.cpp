// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/causality/Witness.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace ditron::checker {

namespace {

/// Where the notifies of each counter are.
class Notifies {
public:
  explicit Notifies(const Trace &trace) : of_(trace.counters.size()) {
    for (uint32_t t = 0; t < trace.threads.size(); ++t)
      for (uint32_t i = 0; i < trace.threads[t].size(); ++i)
        if (const Event &event = trace.threads[t][i]; event.isRelease())
          of_[event.object].push_back({t, i});
  }
  const std::vector<Position> &of(uint32_t counter) const { return of_[counter]; }

private:
  std::vector<std::vector<Position>> of_;
};

/// The notify for a wait that takes the fewest further events: not yet allowed, and within reach.
std::optional<Position> cheapestNotify(const Trace &trace, const Notifies &notifies,
                                       const Event &wait, const std::vector<uint32_t> &allowed,
                                       const std::vector<uint32_t> &reachable) {
  std::optional<Position> best;
  for (Position notify : notifies.of(wait.object)) {
    const Event &event = trace.at(notify);
    bool helps = event.kind == Event::Kind::notifyAdd ? event.value > 0 : event.value >= wait.value;
    if (!helps || notify.index < allowed[notify.thread] || notify.index >= reachable[notify.thread])
      continue;
    auto cost = [&](Position at) { return std::pair(at.index - allowed[at.thread], at); };
    if (!best || cost(notify) < cost(*best))
      best = notify;
  }
  return best;
}

/// How far each thread has to go for the targets.
std::vector<uint32_t> needed(const Trace &trace, const std::vector<Position> &targets) {
  Front most(trace.threads, trace.counters.size());
  most.allowAll();
  std::vector<uint32_t> allowed(trace.threads.size(), 0);
  std::vector<uint32_t> limits;
  for (const Thread &thread : trace.threads)
    limits.push_back(static_cast<uint32_t>(thread.size()));
  for (Position target : targets)
    allowed[target.thread] = limits[target.thread] = target.index;
  Front reach(trace.threads, trace.counters.size()), least = reach;
  for (uint32_t t = 0; t < limits.size(); ++t)
    reach.allow(t, limits[t]);
  reach.run();
  std::vector<uint32_t> reachable = reach.positions();
  Notifies notifies(trace);
  while (true) {
    for (uint32_t t = 0; t < allowed.size(); ++t)
      least.allow(t, allowed[t]);
    least.run();
    auto isBehind = [&](uint32_t t) { return least.position(t) < allowed[t]; };
    uint32_t stuck = 0;
    while (stuck < allowed.size() && !isBehind(stuck))
      ++stuck;
    if (stuck == allowed.size())
      return allowed;
    const Event &wait = trace.at({stuck, least.position(stuck)});
    auto notify = cheapestNotify(trace, notifies, wait, allowed, reachable);
    if (!notify)
      return {};
    allowed[notify->thread] = notify->index + 1;
  }
}

} // namespace

Schedule shortestTo(const Trace &trace, const std::vector<Position> &targets) {
  std::vector<uint32_t> limits = needed(trace, targets), order;
  if (limits.empty())
    return {};
  auto isTarget = [&](uint32_t thread) {
    return std::any_of(targets.begin(), targets.end(),
                       [&](Position target) { return target.thread == thread; });
  };
  for (uint32_t t = 0; t < limits.size(); ++t)
    order.push_back(t);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(isTarget(a), a) < std::pair(isTarget(b), b);
  });
  Front front(trace.threads, trace.counters.size());
  for (uint32_t t = 0; t < limits.size(); ++t)
    front.allow(t, limits[t]);
  std::vector<uint32_t> at(limits.size(), 0);
  Schedule schedule;
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t t : order) {
      front.runOnly(t);
      if (front.position(t) == at[t])
        continue;
      at[t] = front.position(t);
      schedule.push_back({t, at[t]});
      moved = true;
    }
  }
  return schedule;
}

Position startOf(const Trace &trace, Position position) {
  while (position.index > 0 && trace.at(position).continues)
    --position.index;
  return position;
}

//===-- Text ----------------------------------------------------------------------------------===//

std::string toText(const Schedule &schedule, int64_t cores) {
  std::string text;
  for (const Segment &segment : schedule)
    text += fmt::format("{}{}.{}:{}", text.empty() ? "" : " ", segment.thread / cores,
                        segment.thread % cores, segment.position);
  return text;
}

Schedule parseSchedule(std::string_view text, int64_t ranks, int64_t cores) {
  Schedule schedule;
  const char *at = text.data(), *end = at + text.size();
  auto fail = [&] {
    throw CompileError(fmt::format("schedule \"{}\": expected RANK.CORE:EVENT ... of {} ranks and "
                                   "{} cores, found \"{}\"",
                                   text, ranks, cores, std::string_view(at, end - at)));
  };
  auto number = [&](char after, int64_t limit) {
    uint32_t value = 0;
    auto [next, error] = std::from_chars(at, end, value);
    bool closed = after ? next != end && *next == after : next == end || *next == ' ';
    if (error != std::errc() || !closed || value >= limit)
      fail();
    at = next + (next != end);
    return value;
  };
  while (at != end) {
    auto rank = number('.', ranks), core = number(':', cores);
    schedule.push_back({static_cast<uint32_t>(rank * cores + core), number('\0', UINT32_MAX)});
  }
  return schedule;
}

} // namespace ditron::checker
