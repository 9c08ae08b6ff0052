// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the machine knows of a program before it runs: who uses which counter, and which accesses
// would race if nothing ordered them.
#include "ditron/check/ExploreState.h"
#include <algorithm>

namespace ditron::explorer {

using device::NotifyMode;
using device::Scope;

Machine::Machine(const Program &program) : program_(program) {
  for (const Thread &thread : program.threads)
    infos_.emplace_back(thread.steps.size());
  findComponents();
  findUses();
  findConflicts();
}

void Machine::findComponents() {
  width_ = program_.threads.size();
  components_.resize(program_.threads.size());
  for (uint32_t t = 0; t < program_.threads.size(); ++t) {
    std::map<int64_t, uint32_t> counts;
    for (uint32_t s = 0; s < program_.threads[t].steps.size(); ++s) {
      const Step &step = program_.threads[t].steps[s];
      if (step.kind != Step::Kind::put)
        continue;
      auto found = llvm::find_if(components_[t], [&](auto &c) { return c.first == step.peer; });
      if (found == components_[t].end()) {
        components_[t].emplace_back(step.peer, static_cast<uint32_t>(width_++));
        found = std::prev(components_[t].end());
      }
      infos_[t][s].component = found->second;
      infos_[t][s].number = ++counts[step.peer];
    }
  }
}

void Machine::findUses() {
  lastUses_.resize(program_.threads.size() * program_.counters.size());
  isMonotone_.assign(program_.counters.size(), true);
  adds_.resize(program_.counters.size());
  waits_.resize(program_.counters.size());
  for (uint32_t t = 0; t < program_.threads.size(); ++t)
    for (uint32_t s = 0; s < program_.threads[t].steps.size(); ++s) {
      const Step &step = program_.threads[t].steps[s];
      if (step.kind != Step::Kind::notify && step.kind != Step::Kind::wait)
        continue;
      LastUse &last = lastUses_[t * program_.counters.size() + step.counter];
      if (step.kind == Step::Kind::wait) {
        last.wait = s;
        if (step.take)
          last.change = s;
        waits_[step.counter].push_back({t, s});
      } else {
        (step.mode == NotifyMode::add ? last.add : last.change) = s;
        adds_[step.counter].push_back({t, s});
      }
      bool shrinks = step.kind == Step::Kind::notify && step.mode != NotifyMode::add &&
                     step.mode != NotifyMode::set;
      if (step.exact || step.take || shrinks)
        isMonotone_[step.counter] = false;
    }
}

bool Machine::isNeededByAll(const State &state, const Step &add) const {
  if (add.mode != NotifyMode::add || !isMonotone_[add.counter])
    return false;
  uint64_t most = state.counters[add.counter];
  for (StepRef one : adds_[add.counter]) {
    const Step &step = program_.threads[one.thread].steps[one.step];
    if (step.mode != NotifyMode::add)
      return false;
    if (one.step >= state.at[one.thread])
      most += step.value;
  }
  return llvm::all_of(waits_[add.counter], [&](StepRef one) {
    return one.step < state.at[one.thread] ||
           program_.threads[one.thread].steps[one.step].value > most - add.value;
  });
}

//===-- Conflicts -----------------------------------------------------------------------------===//

namespace {

/// The first bytes that two touches share; empty if there are none.
Span overlap(const Touch &one, const Touch &other) {
  auto a = one.spans.begin(), b = other.spans.begin();
  while (a != one.spans.end() && b != other.spans.end()) {
    if (a->end <= b->begin)
      ++a;
    else if (b->end <= a->begin)
      ++b;
    else
      return {std::max(a->begin, b->begin), std::min(a->end, b->end)};
  }
  return {0, 0};
}

bool isEmpty(Span span) { return span.begin == span.end; }

bool mayRace(const Touch &one, const Touch &other) {
  using Kind = Touch::Kind;
  return (one.kind != Kind::read || other.kind != Kind::read) &&
         (one.kind != Kind::atomic || other.kind != Kind::atomic);
}

} // namespace

void Machine::findConflicts() {
  std::vector<std::vector<Located>> byMemory(program_.memories.size());
  for (uint32_t t = 0; t < program_.threads.size(); ++t)
    for (uint32_t s = 0; s < program_.threads[t].steps.size(); ++s) {
      const Step &step = program_.threads[t].steps[s];
      for (const Touch &touch : step.touches)
        if (!touch.spans.empty())
          byMemory[touch.memory].push_back({{t, s}, &touch, step.kind == Step::Kind::put});
    }
  for (std::vector<Located> &touches : byMemory) {
    if (touches.empty())
      continue;
    for (size_t i = 0; i < touches.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        addConflict(touches[i], touches[j]);
    if (program_.memories[touches[0].touch->memory].isSymmetric)
      findWriters(touches);
  }
  for (uint32_t c = 0; c < program_.counters.size(); ++c)
    for (StepRef one : adds_[c])
      for (StepRef other : waits_[c]) {
        const Thread &from = program_.threads[one.thread], &to = program_.threads[other.thread];
        Scope reach = std::min(from.steps[one.step].scope, to.steps[other.step].scope);
        if (program_.between(from, to) > reach)
          tracksOrder_ = true, isMonotone_[c] = false; // a late wait sees more of it
      }
}

void Machine::addConflict(const Located &one, const Located &other) {
  bool isSame = one.at.thread == other.at.thread;
  if ((isSame && (one.at.step == other.at.step || (!one.isPut && !other.isPut))) ||
      !mayRace(*one.touch, *other.touch))
    return;
  Span bytes = overlap(*one.touch, *other.touch);
  if (isEmpty(bytes))
    return;
  uint32_t memory = one.touch->memory;
  infos_[one.at.thread][one.at.step].conflicts.push_back({other.at, memory, bytes, other.isPut});
  infos_[other.at.thread][other.at.step].conflicts.push_back({one.at, memory, bytes, one.isPut});
  tracksOrder_ = true;
}

void Machine::findWriters(const std::vector<Located> &touches) {
  auto launchOf = [&](StepRef at) { return program_.threads[at.thread].steps[at.step].launch; };
  for (const Located &read : touches) {
    if (read.touch->kind != Touch::Kind::read)
      continue;
    for (const Located &write : touches)
      if (write.touch->kind != Touch::Kind::read && launchOf(read.at) == launchOf(write.at) &&
          !isEmpty(overlap(*read.touch, *write.touch)))
        infos_[read.at.thread][read.at.step].writers.push_back(write);
  }
}

} // namespace ditron::explorer
