// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/explore/ExploreState.h"
#include <algorithm>

namespace ditron::checker {

void join(Clock &clock, const Clock &other) {
  for (size_t i = 0; i < clock.size(); ++i)
    clock[i] = std::max(clock[i], other[i]);
}

namespace {

template <class T> void write(std::string &key, const std::vector<T> &numbers) {
  key.append(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(T));
}

} // namespace

std::string State::key(bool order) const {
  std::string key;
  write(key, at);
  write(key, stopped);
  write(key, counters);
  if (!order)
    return key;
  for (const auto *all : {&clocks, &issued, &fenced, &settled})
    for (const Clock &clock : *all)
      write(key, clock);
  for (const std::vector<Message> &left : messages) {
    write(key, std::vector<size_t>{left.size()});
    for (const Message &message : left) {
      write(key, std::vector<uint32_t>{message.thread, static_cast<uint32_t>(message.scope)});
      write(key, message.clock);
    }
  }
  return key;
}

namespace {

size_t bytesOf(const Clock &clock) { return sizeof clock + clock.capacity() * sizeof clock[0]; }

size_t bytesOf(const std::vector<Clock> &clocks) {
  size_t bytes = 0;
  for (const Clock &clock : clocks)
    bytes += bytesOf(clock);
  return bytes;
}

} // namespace

size_t State::bytes() const {
  size_t bytes = sizeof *this + at.capacity() * sizeof at[0] + stopped.capacity() +
                 counters.capacity() * sizeof counters[0];
  for (const auto *all : {&clocks, &issued, &fenced, &settled})
    bytes += bytesOf(*all);
  for (const std::vector<Message> &left : messages) {
    bytes += sizeof left + left.capacity() * sizeof(Message);
    for (const Message &message : left)
      bytes += bytesOf(message.clock) - sizeof message.clock;
  }
  return bytes;
}

//===-- Going on ------------------------------------------------------------------------------===//

State Machine::start(std::vector<Fault> &faults) const {
  State state;
  size_t threads = trace_.threads.size();
  state.at.assign(threads, 0);
  state.stopped.assign(threads, 0);
  state.counters.assign(trace_.counters.size(), 0);
  if (tracksOrder_) {
    Clock zero(width_, 0);
    state.clocks.assign(threads, zero);
    state.settled = state.clocks;
    state.issued.assign(width_ - threads, zero);
    state.fenced = state.issued;
    state.messages.resize(trace_.counters.size());
  }
  for (uint32_t t = 0; t < threads; ++t)
    settle(state, t, faults);
  return state;
}

const Event *Machine::next(const State &state, uint32_t thread) const {
  const Thread &events = trace_.threads[thread];
  bool canGoOn = state.at[thread] < events.size() && !state.stopped[thread];
  return canGoOn ? &events[state.at[thread]] : nullptr;
}

bool Machine::isEnabled(const State &state, uint32_t thread) const {
  const Event *event = next(state, thread);
  if (!event || event->isRelease())
    return event;
  uint64_t value = state.counters[event->object];
  return event->isExact ? value == event->value : value >= event->value;
}

void Machine::advance(State &state, uint32_t thread, std::vector<Fault> &faults) const {
  Position at{thread, state.at[thread]};
  const Event &event = *next(state, thread);
  if (event.kind == Event::Kind::notifySubtract && event.value > state.counters[event.object]) {
    faults.push_back({.kind = Fault::Kind::negativeCounter, .at = at});
    state.stopped[thread] = 1;
    return;
  }
  if (event.isRelease())
    notify(state, at);
  else
    wait(state, at, faults);
  step(state, thread);
  settle(state, thread, faults);
}

/// Behind the thread's next event.
void Machine::step(State &state, uint32_t thread) const {
  ++state.at[thread];
  if (tracksOrder_)
    state.clocks[thread][thread] = state.at[thread];
}

/// Executes what comes before the next notify or wait.
void Machine::settle(State &state, uint32_t thread, std::vector<Fault> &faults) const {
  while (const Event *event = next(state, thread)) {
    if (event->isSync())
      return;
    if (event->isAccess())
      access(state, {thread, state.at[thread]}, faults);
    else if (tracksOrder_ && event->kind == Event::Kind::fence)
      fence(state, thread, event->scope);
    else if (tracksOrder_)
      quiet(state, thread);
    step(state, thread);
  }
}

void Machine::quiet(State &state, uint32_t thread) const {
  complete(state, thread, Scope::network);
  for (auto [peer, component] : components_[thread])
    join(state.settled[thread], state.issued[putOf(component)]);
}

//===-- Accesses ------------------------------------------------------------------------------===//

void Machine::access(State &state, Position at, std::vector<Fault> &faults) const {
  const Info &info = infos_[at.thread][at.index];
  const Event &event = trace_.at(at);
  if (!tracksOrder_)
    return checkWritten(state, at, {}, faults);
  Clock clock = state.clocks[at.thread];
  if (event.isPut())
    join(clock, state.fenced[putOf(info.component)]);
  size_t known = faults.size();
  for (const Conflict &conflict : info.conflicts)
    if (conflict.other.index < state.at[conflict.other.thread] && !isBefore(conflict.other, clock))
      faults.push_back(raceOf(at, conflict, clock));
  if (faults.size() == known)
    checkWritten(state, at, clock, faults);
  if (!event.isPut())
    return;
  clock[at.thread] = at.index + 1;
  clock[info.component] = info.number;
  state.issued[putOf(info.component)] = std::move(clock);
}

bool Machine::isBefore(Position earlier, const Clock &clock) const {
  const Info &info = infos_[earlier.thread][earlier.index];
  return trace_.at(earlier).isPut() ? clock[info.component] >= info.number
                                    : clock[earlier.thread] > earlier.index;
}

Fault Machine::raceOf(Position at, const Conflict &conflict, const Clock &clock) const {
  Position other = conflict.other;
  Fault fault{.kind = Fault::Kind::race, .at = at, .other = other, .bytes = conflict.bytes};
  fault.isUnfinishedPut = trace_.at(other).isPut() && clock[other.thread] > other.index;
  return fault;
}

/// What is read was written in this launch, before, unless a launch finds it defined.
void Machine::checkWritten(const State &state, Position at, const Clock &clock,
                           std::vector<Fault> &faults) const {
  const Event &event = trace_.at(at);
  bool reads = event.kind != Event::Kind::write && event.kind != Event::Kind::putTarget;
  if (!reads || trace_.memoryOf(event).isDefined)
    return;
  std::vector<Bytes> written;
  for (Position write : infos_[at.thread][at.index].writers)
    if (write.index < state.at[write.thread] && (!tracksOrder_ || isBefore(write, clock))) {
      const std::vector<Bytes> &runs = trace_.footprints.runs(trace_.at(write).object);
      written.insert(written.end(), runs.begin(), runs.end());
    }
  std::sort(written.begin(), written.end(),
            [](const Bytes &a, const Bytes &b) { return a.first < b.first; });
  for (Bytes run : trace_.footprints.runs(event.object)) {
    for (const Bytes &one : written)
      if (one.first <= run.first)
        run.first = std::max(run.first, one.limit);
    if (run.first >= run.limit)
      continue;
    faults.push_back({.kind = Fault::Kind::uninitializedRead, .at = at, .bytes = run});
    return;
  }
}

//===-- Order ---------------------------------------------------------------------------------===//

void Machine::fence(State &state, uint32_t thread, Scope scope) const {
  for (auto [peer, component] : components_[thread])
    if (trace_.toRank(thread, peer) <= scope)
      join(state.fenced[putOf(component)], state.issued[putOf(component)]);
}

/// What follows of the thread comes after its puts within the scope.
void Machine::complete(State &state, uint32_t thread, Scope scope) const {
  for (auto [peer, component] : components_[thread])
    if (trace_.toRank(thread, peer) <= scope)
      state.clocks[thread][component] = state.issued[putOf(component)][component];
}

void Machine::notify(State &state, Position at) const {
  const Event &event = trace_.at(at);
  uint64_t &value = state.counters[event.object];
  switch (event.kind) {
  case Event::Kind::notifySet:
    value = std::max(value, event.value);
    break;
  case Event::Kind::notifySubtract:
    value -= event.value;
    break;
  case Event::Kind::notifyStore:
    value = event.value;
    if (tracksOrder_)
      state.messages[event.object].clear();
    break;
  default:
    value += event.value;
  }
  if (tracksOrder_)
    leave(state, at);
}

void Machine::leave(State &state, Position at) const {
  const Event &event = trace_.at(at);
  Clock clock;
  if (event.isRelaxed) {
    clock = state.settled[at.thread];
    for (auto [peer, component] : components_[at.thread])
      if (peer == trace_.counters[event.object].rank)
        join(clock, state.fenced[putOf(component)]);
    if (std::all_of(clock.begin(), clock.end(), [](uint32_t one) { return one == 0; }))
      return;
  } else {
    complete(state, at.thread, event.isStated ? event.scope : Scope::network);
    clock = state.clocks[at.thread];
    clock[at.thread] = at.index + 1;
  }
  std::vector<Message> &left = state.messages[event.object];
  auto place = [](const Message &one) { return std::pair(one.thread, one.scope); };
  auto found =
      std::lower_bound(left.begin(), left.end(), std::pair(at.thread, event.scope),
                       [&](const Message &one, const auto &key) { return place(one) < key; });
  if (found == left.end() || place(*found) != std::pair(at.thread, event.scope))
    found = left.insert(found, {at.thread, event.scope, at.index, Clock(width_, 0)});
  found->index = at.index;
  join(found->clock, clock);
}

void Machine::wait(State &state, Position at, std::vector<Fault> &faults) const {
  const Event &event = trace_.at(at);
  if (event.takes)
    state.counters[event.object] -= event.value;
  if (event.isRelaxed || !tracksOrder_)
    return;
  for (const Message &message : state.messages[event.object]) {
    Scope reach = std::min(message.scope, event.scope);
    if (trace_.between(message.thread, at.thread) <= reach)
      join(state.clocks[at.thread], message.clock);
    else
      faults.push_back({.kind = Fault::Kind::narrowScope,
                        .at = at,
                        .other = Position{message.thread, message.index}});
  }
}

} // namespace ditron::checker
