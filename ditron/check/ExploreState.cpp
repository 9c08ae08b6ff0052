// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/check/ExploreState.h"
#include <algorithm>

namespace ditron::explorer {

using device::NotifyMode;
using device::Scope;

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

//===-- Going on ------------------------------------------------------------------------------===//

State Machine::start(std::vector<Fault> &faults) const {
  State state;
  size_t threads = program_.threads.size();
  Clock zero(width_, 0);
  state.at.assign(threads, 0);
  state.stopped.assign(threads, 0);
  state.counters.assign(program_.counters.size(), 0);
  state.clocks.assign(threads, zero);
  state.settled = state.clocks;
  state.issued.assign(width_ - threads, zero);
  state.fenced = state.issued;
  state.messages.resize(program_.counters.size());
  for (uint32_t t = 0; t < threads; ++t)
    settle(state, t, faults);
  return state;
}

const Step *Machine::next(const State &state, uint32_t thread) const {
  const std::vector<Step> &steps = program_.threads[thread].steps;
  bool canGoOn = state.at[thread] < steps.size() && !state.stopped[thread];
  return canGoOn ? &steps[state.at[thread]] : nullptr;
}

bool Machine::isEnabled(const State &state, uint32_t thread) const {
  const Step *step = next(state, thread);
  if (!step || step->kind == Step::Kind::notify)
    return step;
  uint64_t value = state.counters[step->counter];
  return step->exact ? value == step->value : value >= step->value;
}

void Machine::advance(State &state, uint32_t thread, std::vector<Fault> &faults) const {
  StepRef at{thread, state.at[thread]};
  const Step &step = *next(state, thread);
  bool subtracts = step.kind == Step::Kind::notify && step.mode == NotifyMode::subtract;
  if (subtracts && step.value > state.counters[step.counter]) {
    faults.push_back({.kind = Fault::Kind::negativeCounter, .at = at});
    state.stopped[thread] = 1;
    return;
  }
  if (step.kind == Step::Kind::notify)
    notify(state, at, step);
  else
    wait(state, at, step, faults);
  state.clocks[thread][thread] = ++state.at[thread];
  settle(state, thread, faults);
}

/// Executes what comes before the next notify or wait.
void Machine::settle(State &state, uint32_t thread, std::vector<Fault> &faults) const {
  while (const Step *step = next(state, thread)) {
    if (step->kind == Step::Kind::notify || step->kind == Step::Kind::wait)
      return;
    if (step->kind == Step::Kind::fence)
      fence(state, thread, step->scope);
    else if (step->kind == Step::Kind::quiet)
      complete(state, thread, Scope::network);
    else
      access(state, {thread, state.at[thread]}, *step, faults);
    if (step->kind == Step::Kind::quiet)
      for (auto [peer, component] : components_[thread])
        join(state.settled[thread], state.issued[component - program_.threads.size()]);
    state.clocks[thread][thread] = ++state.at[thread];
  }
}

//===-- Accesses ------------------------------------------------------------------------------===//

void Machine::access(State &state, StepRef at, const Step &step, std::vector<Fault> &faults) const {
  const StepInfo &info = infos_[at.thread][at.step];
  Clock clock = state.clocks[at.thread];
  size_t component = info.component - program_.threads.size();
  if (step.kind == Step::Kind::put)
    join(clock, state.fenced[component]);
  size_t known = faults.size();
  for (const Conflict &conflict : info.conflicts)
    if (conflict.other.step < state.at[conflict.other.thread] &&
        !isBefore(conflict.other, conflict.isPut, clock))
      faults.push_back(raceOf(at, conflict, clock));
  if (faults.size() == known)
    checkWritten(state, at, step, clock, faults);
  if (step.kind != Step::Kind::put)
    return;
  clock[at.thread] = at.step + 1;
  clock[info.component] = info.number;
  state.issued[component] = std::move(clock);
}

bool Machine::isBefore(const StepRef &earlier, bool isPut, const Clock &clock) const {
  const StepInfo &info = infos_[earlier.thread][earlier.step];
  return isPut ? clock[info.component] >= info.number : clock[earlier.thread] > earlier.step;
}

Fault Machine::raceOf(StepRef at, const Conflict &conflict, const Clock &clock) const {
  StepRef other = conflict.other;
  Fault fault{.kind = Fault::Kind::race, .at = at, .other = other};
  fault.memory = conflict.memory;
  fault.bytes = conflict.bytes;
  fault.isUnfinishedPut = conflict.isPut && clock[other.thread] > other.step;
  fault.through = signalBetween(other, at);
  if (!fault.through)
    fault.through = signalBetween(at, other);
  return fault;
}

/// The wait of `to`'s thread before it that a notify of `from`'s thread behind it can end.
std::optional<StepRef> Machine::signalBetween(StepRef from, StepRef to) const {
  const std::vector<Step> &steps = program_.threads[to.thread].steps;
  for (uint32_t s = to.step; s-- > 0;) {
    if (steps[s].kind != Step::Kind::wait)
      continue;
    const LastUse &last = lastUse(from.thread, steps[s].counter);
    if (std::max(last.add, last.change) > static_cast<int64_t>(from.step) &&
        from.thread != to.thread)
      return StepRef{to.thread, s};
  }
  return std::nullopt;
}

/// What is read of symmetric memory was written in this launch, before.
void Machine::checkWritten(const State &state, StepRef at, const Step &step, const Clock &clock,
                           std::vector<Fault> &faults) const {
  for (const Touch &touch : step.touches) {
    if (touch.kind != Touch::Kind::read || !program_.memories[touch.memory].isSymmetric)
      continue;
    std::vector<Span> written;
    for (const Located &write : infos_[at.thread][at.step].writers)
      if (write.touch->memory == touch.memory && write.at.step < state.at[write.at.thread] &&
          isBefore(write.at, write.isPut, clock))
        written.insert(written.end(), write.touch->spans.begin(), write.touch->spans.end());
    llvm::sort(written, [](Span a, Span b) { return a.begin < b.begin; });
    for (Span span : touch.spans) {
      for (Span one : written)
        if (one.begin <= span.begin)
          span.begin = std::max(span.begin, one.end);
      if (span.begin >= span.end)
        continue;
      Fault fault{.kind = Fault::Kind::uninitializedRead, .at = at};
      fault.memory = touch.memory;
      fault.bytes = span;
      faults.push_back(fault);
      break;
    }
  }
}

//===-- Order ---------------------------------------------------------------------------------===//

Scope Machine::toPeer(uint32_t thread, int64_t peer) const {
  const Thread &from = program_.threads[thread];
  return std::max(Scope::device, program_.between(from, Thread{peer, from.core, {}}));
}

void Machine::fence(State &state, uint32_t thread, Scope scope) const {
  for (auto [peer, component] : components_[thread])
    if (size_t at = component - program_.threads.size(); toPeer(thread, peer) <= scope)
      join(state.fenced[at], state.issued[at]);
}

/// What follows of the thread comes after its puts within the scope.
void Machine::complete(State &state, uint32_t thread, Scope scope) const {
  for (auto [peer, component] : components_[thread])
    if (toPeer(thread, peer) <= scope)
      state.clocks[thread][component] =
          state.issued[component - program_.threads.size()][component];
}

void Machine::notify(State &state, StepRef at, const Step &step) const {
  uint64_t &value = state.counters[step.counter];
  switch (step.mode) {
  case NotifyMode::add:
    value += step.value;
    break;
  case NotifyMode::set:
    value = std::max(value, step.value);
    break;
  case NotifyMode::subtract:
    value -= step.value;
    break;
  case NotifyMode::store:
    value = step.value;
    state.messages[step.counter].clear();
    break;
  }
  leave(state, at, step);
}

void Machine::leave(State &state, StepRef at, const Step &step) const {
  Clock clock;
  if (step.relaxed) {
    clock = state.settled[at.thread];
    for (auto [peer, component] : components_[at.thread])
      if (peer == program_.counters[step.counter].rank)
        join(clock, state.fenced[component - program_.threads.size()]);
    if (llvm::all_of(clock, [](uint32_t one) { return one == 0; }))
      return;
  } else {
    complete(state, at.thread, step.scope);
    clock = state.clocks[at.thread];
    clock[at.thread] = at.step + 1;
  }
  std::vector<Message> &left = state.messages[step.counter];
  auto place = [](const Message &one) { return std::pair(one.thread, one.scope); };
  auto found = llvm::lower_bound(left, std::pair(at.thread, step.scope),
                                 [&](const Message &one, auto &key) { return place(one) < key; });
  if (found == left.end() || place(*found) != std::pair(at.thread, step.scope))
    found = left.insert(found, {at.thread, step.scope, at.step, Clock(width_, 0)});
  found->step = at.step;
  join(found->clock, clock);
}

void Machine::wait(State &state, StepRef at, const Step &step, std::vector<Fault> &faults) const {
  if (step.take)
    state.counters[step.counter] -= step.value;
  if (step.relaxed)
    return;
  const Thread &waiter = program_.threads[at.thread];
  for (const Message &message : state.messages[step.counter]) {
    Scope reach = std::min(message.scope, step.scope);
    if (program_.between(program_.threads[message.thread], waiter) <= reach)
      join(state.clocks[at.thread], message.clock);
    else
      faults.push_back({.kind = Fault::Kind::narrowScope,
                        .at = at,
                        .other = StepRef{message.thread, message.step}});
  }
}

} // namespace ditron::explorer
