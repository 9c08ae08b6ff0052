// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/report/Describe.h"
#include "ditron/checker/report/Explain.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace ditron::checker {

namespace {

/// What the waits of a stuck run ask for, and what there is.
class Stuck {
public:
  explicit Stuck(const Recording &recording) : recording_(recording), trace_(recording.trace) {
    for (uint32_t t = 0; t < recording.hypothetical.size(); ++t)
      for (uint32_t i = 0; i < recording.hypothetical[t].size(); ++i)
        if (const Event &event = recording.hypothetical[t][i]; event.isRelease())
          notifies_[event.object].push_back({t, i});
    for (const StuckWait &wait : recording.stuck)
      waits_[wait.thread] = &wait;
  }

  std::vector<Explained> explain() {
    for (auto [thread, wait] : waits_)
      if (isLost(*wait) && reported_.insert(opOf(*wait)).second)
        found_.push_back(explainLost(*wait));
    for (auto [thread, wait] : waits_)
      if (!isLost(*wait))
        followCycle(thread);
    return std::move(found_);
  }

private:
  const Event &at(Position position) const {
    return recording_.hypothetical[position.thread][position.index];
  }
  bool isExecuted(Position position) const {
    return position.index < trace_.threads[position.thread].size();
  }
  uint32_t opOf(const StuckWait &wait) const { return trace_.siteOf(wait.wait).op; }
  bool isBarrier(const StuckWait &wait) const {
    return trace_.counters[wait.wait.object].kind == Trace::Counter::Kind::barrier;
  }

  std::vector<Position> remaining(const StuckWait &wait) {
    std::vector<Position> result;
    for (Position notify : notifies_[wait.wait.object])
      if (!isExecuted(notify))
        result.push_back(notify);
    return result;
  }

  /// Whether the counter stays too small even if every other wait passed.
  bool isLost(const StuckWait &wait) {
    uint64_t reaches = wait.seen;
    for (Position notify : remaining(wait))
      if (at(notify).kind == Event::Kind::notifyAdd)
        reaches += at(notify).value;
      else
        reaches = std::max(reaches, at(notify).value);
    return reaches < wait.wait.value;
  }

  Party party(const StuckWait &wait) const {
    return partyOf(trace_, wait.thread, wait.wait,
                   fmt::format("{}, it is {}", describeAction(trace_, wait.wait), wait.seen));
  }

  std::string place(Position notify) const {
    Party who = partyOf(trace_, notify.thread, at(notify));
    return fmt::format("rank {}, core {} ({})", who.rank, who.core, who.source());
  }

  std::string list(const std::vector<Position> &notifies) const {
    std::string text;
    for (size_t i = 0; i < notifies.size() && i < 4; ++i)
      text += (i ? "; " : "") + place(notifies[i]);
    if (notifies.size() > 4)
      text += fmt::format("; and {} more", notifies.size() - 4);
    return text;
  }

  Position positionOf(const StuckWait &wait) const {
    return {wait.thread, static_cast<uint32_t>(trace_.threads[wait.thread].size())};
  }

  void addSchedule(Finding &finding, const std::vector<const StuckWait *> &waits) const {
    std::vector<Position> targets;
    for (const StuckWait *wait : waits)
      targets.push_back(positionOf(*wait));
    Schedule schedule = shortestTo(trace_, targets);
    finding.schedule = toText(schedule, trace_.cores);
    finding.steps = describeSchedule(trace_, schedule);
  }

  Explained explainLost(const StuckWait &wait) {
    Explained result;
    result.ops = {opOf(wait)};
    Finding &finding = result.finding;
    Party who = party(wait);
    const std::string &counter = trace_.counters[wait.wait.object].name;
    finding.kind = isBarrier(wait) ? FindingKind::divergentBarrier : FindingKind::lostSignal;
    finding.message =
        isBarrier(wait)
            ? fmt::format(
                  "rank {}, core {} waits in {} at {} for cores that never arrive: {} of {} "
                  "arrivals",
                  who.rank, who.core, counter, who.source(), wait.seen, wait.wait.value)
            : fmt::format("rank {}, core {} waits at {} for {} to reach {}, but it stays at {}",
                          who.rank, who.core, who.source(), counter, wait.wait.value, wait.seen);
    finding.parties = {std::move(who)};
    std::vector<Position> done, left = remaining(wait);
    for (Position notify : notifies_[wait.wait.object])
      if (isExecuted(notify))
        done.push_back(notify);
    const char *verb = isBarrier(wait) ? "arrived" : "notified it";
    finding.notes.push_back(done.empty() ? fmt::format("nobody {}", verb)
                                         : fmt::format("{}: {}", verb, list(done)));
    if (!left.empty())
      finding.notes.push_back(
          fmt::format("could still do so, which would not be enough: {}", list(left)));
    addOthers(finding, wait);
    addSchedule(finding, {&wait});
    return result;
  }

  void addOthers(Finding &finding, const StuckWait &wait) const {
    size_t same = 0, others = 0;
    for (auto [thread, other] : waits_)
      ++(opOf(*other) == opOf(wait) ? same : others);
    if (same > 1)
      finding.notes.push_back(coresWait(same - 1) + " beside it at the same place");
    if (others > 0)
      finding.notes.push_back(coresWait(others) + " at other places");
  }

  /// Goes from a wait to whoever would notify it, and on from that one's wait.
  void followCycle(uint32_t thread) {
    std::vector<uint32_t> path;
    std::map<uint32_t, Position> nextNotify;
    while (std::find(path.begin(), path.end(), thread) == path.end()) {
      auto wait = waits_.find(thread);
      if (wait == waits_.end() || isLost(*wait->second))
        return; // it waits for what is told of elsewhere
      path.push_back(thread);
      std::vector<Position> left = remaining(*wait->second);
      // A notify of a core that waits: if its own comes last, of the wait that is first.
      nextNotify[thread] = left.front();
      thread = left.front().thread;
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), thread));
    std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
    reportCycle(path, nextNotify);
  }

  void reportCycle(const std::vector<uint32_t> &cycle, std::map<uint32_t, Position> &nextNotify) {
    std::set<uint32_t> ops;
    for (uint32_t thread : cycle)
      ops.insert(opOf(*waits_[thread]));
    if (!cycles_.insert(ops).second)
      return;
    Explained result;
    result.ops = {ops.begin(), ops.end()};
    Finding &finding = result.finding;
    finding.kind = FindingKind::deadlock;
    std::vector<const StuckWait *> waits;
    for (uint32_t thread : cycle) {
      waits.push_back(waits_[thread]);
      finding.parties.push_back(party(*waits_[thread]));
      finding.notes.push_back(
          fmt::format("{} would be notified by {}, behind {}",
                      trace_.counters[waits.back()->wait.object].name, place(nextNotify[thread]),
                      cycle.size() == 1 ? "this very wait" : "that core's own wait"));
    }
    const Party &first = finding.parties.front();
    finding.message = cycle.size() == 1
                          ? fmt::format("rank {}, core {} waits at {} for itself", first.rank,
                                        first.core, first.source())
                          : fmt::format("{} cores wait for one another, the first at {}",
                                        cycle.size(), first.source());
    addSchedule(finding, waits);
    found_.push_back(std::move(result));
  }

  const Recording &recording_;
  const Trace &trace_;
  std::map<uint32_t, std::vector<Position>> notifies_; ///< of each counter
  std::map<uint32_t, const StuckWait *> waits_;        ///< of each thread
  std::set<uint32_t> reported_;
  std::set<std::set<uint32_t>> cycles_;
  std::vector<Explained> found_;
};

} // namespace

std::vector<Explained> explainStuck(const Recording &recording) {
  return Stuck(recording).explain();
}

Explained describeResidence(const Trace &trace, const std::vector<Position> &waiting,
                            const std::vector<Position> &starting) {
  Explained result;
  Finding &finding = result.finding;
  finding.kind = FindingKind::notResident;
  for (Position at : {waiting.front(), starting.front()})
    finding.parties.push_back(partyOf(trace, at.thread, trace.at(at)));
  finding.parties.back().what = "cannot start before one of the resident cores ends";
  result.ops = {trace.siteOf(trace.at(waiting.front())).op};
  finding.message =
      fmt::format("{} of {} cores of a rank run at a time, and {}, the first at {}, for what only "
                  "the others would do",
                  trace.residentCores, trace.cores, coresWait(waiting.size()),
                  finding.parties.front().source());
  finding.notes.push_back(
      fmt::format("{} core{} cannot start", starting.size(), starting.size() == 1 ? "" : "s"));
  return result;
}

std::vector<Explained> explainResidence(const Trace &trace) {
  Front front(trace.threads, trace.counters.size());
  front.allowAll();
  front.run();
  std::vector<Position> waiting, starting;
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    if (uint32_t at = front.position(t); front.isBlocked(t))
      (trace.counters[trace.threads[t][at].object].kind == Trace::Counter::Kind::launch ? starting
                                                                                        : waiting)
          .push_back({t, at});
  if (waiting.empty() || starting.empty())
    return {};
  Explained result = describeResidence(trace, waiting, starting);
  Finding &finding = result.finding;
  Schedule schedule = shortestTo(trace, {waiting.front()});
  finding.schedule = toText(schedule, trace.cores);
  finding.steps = describeSchedule(trace, schedule);
  return {std::move(result)};
}

} // namespace ditron::checker
