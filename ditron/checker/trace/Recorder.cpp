// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/trace/Recorder.h"
#include "ditron/checker/causality/Witness.h"
#include "ditron/checker/report/Describe.h"
#include "ditron/checker/trace/TraceNames.h"
#include "ditron/core/TileOps.h"
#include "ditron/device/DistOps.h"
#include "ditron/device/Scope.h"
#include "ditron/support/Error.h"
#include "llvm/ADT/Hashing.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

using namespace mlir;

namespace ditron::checker {

using reference::Action;
using reference::CoreMachine;
using reference::Outcome;

namespace {

//===-- Schedulers ----------------------------------------------------------------------------===//

/// Each core as far as it comes.
class OneAfterTheOther : public reference::Scheduler {
public:
  size_t pick(llvm::ArrayRef<size_t> runnable) override {
    if (!std::binary_search(runnable.begin(), runnable.end(), current_))
      current_ = runnable.front();
    return current_;
  }

private:
  size_t current_ = 0;
};

/// The core with the highest priority; now and then the priorities are drawn anew.
class ByPriority : public reference::Scheduler {
public:
  ByPriority(uint64_t seed, size_t cores) : random_(seed), priorities_(cores) { draw(); }
  size_t pick(llvm::ArrayRef<size_t> runnable) override {
    if (random_() % 64 == 0)
      draw();
    return *std::max_element(runnable.begin(), runnable.end(), [&](size_t a, size_t b) {
      return std::pair(priorities_[a], a) < std::pair(priorities_[b], b);
    });
  }

private:
  void draw() {
    for (uint64_t &priority : priorities_)
      priority = random_();
  }
  std::mt19937_64 random_;
  std::vector<uint64_t> priorities_;
};

//===-- From the IR to the trace --------------------------------------------------------------===//

Event::Kind notifyOf(device::NotifyMode mode) {
  switch (mode) {
  case device::NotifyMode::add:
    return Event::Kind::notifyAdd;
  case device::NotifyMode::set:
    return Event::Kind::notifySet;
  case device::NotifyMode::subtract:
    return Event::Kind::notifySubtract;
  case device::NotifyMode::store:
    break;
  }
  return Event::Kind::notifyStore;
}

Event::Kind kindOf(const Action &action) {
  using Kind = Action::Kind;
  switch (action.kind) {
  case Kind::read:
    return Event::Kind::read;
  case Kind::write:
    return Event::Kind::write;
  case Kind::atomic:
    return Event::Kind::atomic;
  case Kind::putSource:
    return Event::Kind::putSource;
  case Kind::putTarget:
    return Event::Kind::putTarget;
  case Kind::release:
    return notifyOf(action.mode);
  case Kind::acquire:
    return Event::Kind::wait;
  case Kind::fence:
    return Event::Kind::fence;
  case Kind::quiet:
    break;
  }
  return Event::Kind::quiet;
}

static_assert(static_cast<int>(Scope::core) == static_cast<int>(device::Scope::core) &&
              static_cast<int>(Scope::device) == static_cast<int>(device::Scope::device) &&
              static_cast<int>(Scope::system) == static_cast<int>(device::Scope::system) &&
              static_cast<int>(Scope::network) == static_cast<int>(device::Scope::network));

/// What the op says of a notify, wait or fence besides counter and value.
void addForms(Event &event, Operation *op) {
  device::OrderForm form = device::formOf(op);
  event.scope = static_cast<Scope>(form.scope);
  event.isStated = event.isRelease() && form.isStated;
  event.isRelaxed = form.isRelaxed;
  event.isExact = form.isExact;
  event.takes = form.takes;
}

//===-- Recorder ------------------------------------------------------------------------------===//

class Recorder {
public:
  Recorder(const Subject &subject, const CheckOptions &options, const RunMode &mode)
      : subject_(subject), options_(options),
        cores_(device::instances(subject.function, options.cores)), arguments_(subject, options),
        interpreter_(subject.function, arguments_.values(), interpreterOptions(mode)),
        names_(result_.trace, subject, interpreter_.world()), isAlone_(mode.isAlone),
        deadline_(mode.deadline) {
    Trace &trace = result_.trace;
    trace.cores = cores_;
    trace.hasCopyEngines = cores_ > options.cores;
    trace.residentCores = options.residentCores;
    trace.nodes = options.nodes;
    trace.threads.resize(options.ranks * cores_);
    for (int64_t rank = 0; rank < options.ranks; ++rank)
      trace.counters.push_back({fmt::format("the end of launches on rank {}", rank),
                                Trace::Counter::Kind::launch, rank});
    launches_.assign(trace.threads.size(), -1);
    result_.fingerprints.assign(trace.threads.size(), 0);
    threads_ = &trace.threads;
  }

  Recording run(reference::Scheduler &scheduler) {
    advance(scheduler);
    if (interpreter_.steppable().empty() && !interpreter_.isDone() && !result_.failure) {
      collectStuck();
      imagineRest(scheduler);
    }
    return finish();
  }

  /// Each core by itself, launch by launch, with waits that pass.
  Recording runAlone() {
    for (int64_t launch = 0; launch < options_.launches; ++launch)
      for (uint32_t t = 0; t < interpreter_.numCores() && !result_.failure; ++t)
        while (interpreter_.core(t).launch() == launch && !interpreter_.core(t).isDone()) {
          if (result_.failure || isOverBudget())
            return finish();
          step(t);
        }
    return finish();
  }

  std::vector<std::string> follow(const Schedule &schedule);

private:
  Recording finish() {
    result_.isComplete = interpreter_.isDone();
    result_.operations = steps_;
    result_.outputs = arguments_.outputs();
    return std::move(result_);
  }

  reference::Options interpreterOptions(const RunMode &mode) {
    reference::Options options;
    options.ranks = options_.ranks;
    options.cores = options_.cores;
    options.nodes = options_.nodes;
    options.mesh = options_.mesh;
    options.launches = static_cast<int>(options_.launches);
    options.waitsPass = mode.isAlone;
    options.latePuts = mode.seed.has_value();
    options.seed = mode.seed.value_or(0);
    options.observer = [this](const Action &action) { observe(action); };
    return options;
  }

  //===-- Execution -------------------------------------------------------------------------===//

  /// Until all are done or stuck, an error, or the end of the budget.
  void advance(reference::Scheduler &scheduler) {
    while (!interpreter_.isDone() && !result_.failure) {
      const std::vector<size_t> &ready = interpreter_.steppable();
      if (ready.empty())
        return;
      if (isOverBudget())
        return;
      step(static_cast<uint32_t>(scheduler.pick(ready)));
    }
  }

  bool isOverBudget() {
    result_.isLate |= std::chrono::steady_clock::now() > deadline_;
    return result_.isOverBudget |= result_.isLate || steps_ >= options_.budget;
  }

  void step(uint32_t thread) {
    const CoreMachine &core = interpreter_.core(thread);
    beginLaunch(thread, core);
    continues_ = false;
    ++steps_;
    try {
      if (interpreter_.step(thread) == Outcome::done && isAwaited(launches_[thread]))
        push(thread, eventOf(thread, Event::Kind::notifyAdd, static_cast<uint32_t>(thread / cores_),
                             1, names_.site(subject_.function, "", {})));
    } catch (const CompileError &error) {
      fail(thread, core, error.what());
    }
  }

  /// Whether anybody can wait for the end of a launch.
  bool isAwaited(int64_t launch) const {
    return launch + 1 < options_.launches || options_.residentCores > 0;
  }

  /// The message without the place, which the finding names otherwise.
  void fail(uint32_t thread, const CoreMachine &core, std::string message) {
    std::string place = core.describe() + ": ";
    if (message.starts_with(place))
      message.erase(0, place.size());
    Event event;
    event.launch = static_cast<uint16_t>(launches_[thread]);
    event.site = names_.siteOf(core);
    result_.failure = {thread, event, std::move(message)};
  }

  /// What the launcher has a rank wait for: see runtime/Workspace.h.
  void beginLaunch(uint32_t thread, const CoreMachine &core) {
    int64_t launch = core.launch(), cores = cores_;
    if (launches_[thread] == launch)
      return;
    launches_[thread] = launch;
    continues_ = false;
    auto waitForEnds = [&](int64_t rank, int64_t ends) {
      push(thread, eventOf(thread, Event::Kind::wait, static_cast<uint32_t>(rank),
                           static_cast<uint64_t>(ends), names_.site(subject_.function, "", {})));
      continues_ = true;
    };
    int64_t own = core.rank();
    if (launch >= 1)
      waitForEnds(own, launch * cores);
    for (int64_t rank = 0; launch >= 2 && rank < options_.ranks; ++rank)
      waitForEnds(rank, (launch - 1) * cores);
    bool isResident = core.isCopyEngine() || core.core() < options_.residentCores;
    if (options_.residentCores > 0 && !isResident) // waitsForResidence
      waitForEnds(own, launch * cores + core.core() - options_.residentCores + 1);
  }

  /// Whether the next that a core does for others to observe is a wait that is not satisfied. Takes
  /// it there.
  bool standsAtWait(uint32_t thread) {
    const CoreMachine &core = interpreter_.core(thread);
    while (!core.isDone() && core.canStep() && !core.waiting()) {
      Operation *next = core.next();
      bool isObserved = next && llvm::any_of(core::observationsOf(next), [](const auto &seen) {
                          return seen.effect != core::Observation::Effect::wait;
                        });
      if (isObserved)
        return false;
      step(thread);
      if (result_.failure)
        return false;
    }
    return !core.isDone() && !core.canStep();
  }

  //===-- Deadlocks -------------------------------------------------------------------------===//

  void collectStuck() {
    for (uint32_t t = 0; t < interpreter_.numCores(); ++t)
      if (const CoreMachine &core = interpreter_.core(t); !core.isDone() && core.waiting())
        result_.stuck.push_back({t, waitOf(t, core), core.waiting()->counter->value});
  }

  Event waitOf(uint32_t thread, const CoreMachine &core) {
    Event event =
        eventOf(thread, Event::Kind::wait, names_.counter(*core.waiting()->counter, core.rank()),
                core.waiting()->expected, names_.siteOf(core));
    addForms(event, core.operation());
    return event;
  }

  /// What the cores would do if every wait that is stuck passed.
  void imagineRest(reference::Scheduler &scheduler) {
    result_.hypothetical = result_.trace.threads;
    threads_ = &result_.hypothetical;
    uint64_t executed = steps_;
    while (!interpreter_.isDone() && !result_.failure && steps_ < 4 * executed + 100'000 &&
           !isOverBudget()) {
      for (uint32_t t = 0; t < interpreter_.numCores(); ++t)
        if (const CoreMachine &core = interpreter_.core(t); !core.isDone() && core.waiting()) {
          (*threads_)[t].push_back(waitOf(t, core));
          interpreter_.pretendArrival(t);
        }
      advance(scheduler);
    }
    // What they do with what is not there says nothing, nor does how long they take.
    result_.failure.reset();
    result_.isOverBudget = result_.isLate = false;
    steps_ = executed;
    threads_ = &result_.trace.threads;
  }

  //===-- Events ----------------------------------------------------------------------------===//

  void observe(const Action &action) {
    const CoreMachine &core = action.core;
    auto thread = static_cast<uint32_t>(core.rank() * cores_ + core.core());
    uint32_t object = action.view      ? names_.footprint(*action.view)
                      : action.counter ? names_.counter(*action.counter, rankOfCounter(action))
                                       : 0;
    Event event = eventOf(thread, kindOf(action), object, action.value, names_.siteOf(core));
    if (!event.isAccess())
      addForms(event, action.op);
    push(thread, event);
    continues_ = true;
    if (action.view && threads_ == &result_.trace.threads && !isAlone_)
      trackDefinition(thread);
  }

  static int64_t rankOfCounter(const Action &action) {
    for (const core::Observation &seen : core::observationsOf(action.op))
      if (seen.effect == core::Observation::Effect::notify && seen.peer)
        return action.core.integer(seen.peer->get());
    return action.core.rank();
  }

  Event eventOf(uint32_t thread, Event::Kind kind, uint32_t object, uint64_t value,
                uint32_t site) const {
    Event event;
    event.kind = kind;
    event.continues = continues_;
    event.launch = static_cast<uint16_t>(launches_[thread]);
    event.site = site;
    event.object = object;
    event.value = value;
    return event;
  }

  void push(uint32_t thread, const Event &event) {
    (*threads_)[thread].push_back(event);
    if (event.isSync() && threads_ == &result_.trace.threads)
      result_.order.push_back(thread);
    uint64_t &fingerprint = result_.fingerprints[thread];
    fingerprint = llvm::hash_combine(fingerprint, names_.hash(event));
  }

  //===-- What is defined -------------------------------------------------------------------===//

  /// Notes bytes that the last access of the thread wrote, or finds that nobody wrote those it
  /// read.
  void trackDefinition(uint32_t thread) {
    const Thread &events = result_.trace.threads[thread];
    const Event &event = events.back();
    uint32_t memory = result_.trace.footprints.memoryOf(event.object);
    if (result_.trace.memories[memory].isDefined)
      return;
    if (written_.size() <= memory)
      written_.resize(memory + 1);
    std::vector<uint16_t> &written = written_[memory];
    auto now = static_cast<uint16_t>(event.launch + 1);
    bool reads = event.kind != Event::Kind::write && event.kind != Event::Kind::putTarget;
    for (const Bytes &run : result_.trace.footprints.runs(event.object)) {
      if (static_cast<int64_t>(written.size()) < run.limit)
        written.resize(run.limit, 0);
      if (reads)
        findUndefined(thread, written, run, now);
      if (event.writes())
        std::fill(written.begin() + run.first, written.begin() + run.limit, now);
    }
  }

  void findUndefined(uint32_t thread, const std::vector<uint16_t> &written, Bytes run,
                     uint16_t now) {
    for (int64_t first = run.first; first < run.limit; ++first) {
      if (written[first] == now)
        continue;
      int64_t limit = first + 1;
      while (limit < run.limit && written[limit] != now)
        ++limit;
      const Thread &events = result_.trace.threads[thread];
      const Event &read = events.back();
      if (reported_.insert({result_.trace.siteOf(read).op, read.object}).second)
        result_.undefinedReads.push_back(
            {{thread, static_cast<uint32_t>(events.size() - 1)}, {first, limit}});
      return;
    }
  }

  const Subject &subject_;
  const CheckOptions &options_;
  int64_t cores_; ///< of each rank, its copy engines being one
  ArgumentSet arguments_;
  reference::Interpreter interpreter_;
  Recording result_;
  TraceNames names_;
  bool isAlone_;
  std::chrono::steady_clock::time_point deadline_;
  std::vector<Thread> *threads_;  ///< that grow
  std::vector<int64_t> launches_; ///< of each thread, the one it is in
  bool continues_ = false;
  uint64_t steps_ = 0;
  std::vector<std::vector<uint16_t>> written_; ///< of each memory's bytes: launch + 1, or 0
  /// Ops that read what nobody wrote, and its footprints.
  std::set<std::pair<uint32_t, uint32_t>> reported_;
};

std::vector<std::string> Recorder::follow(const Schedule &schedule) {
  std::vector<std::string> lines;
  const std::vector<Thread> &threads = result_.trace.threads;
  for (const Segment &segment : schedule) {
    while (threads[segment.thread].size() < segment.position) {
      size_t before = threads[segment.thread].size();
      if (isOverBudget())
        throw RuntimeError("the budget or the time of the check ended the replay");
      if (interpreter_.core(segment.thread).isDone() ||
          !interpreter_.core(segment.thread).canStep())
        throw CompileError(fmt::format("the schedule cannot be followed: core {} of rank {} stands "
                                       "at event {} and cannot go on to {}",
                                       segment.thread % cores_, segment.thread / cores_, before,
                                       segment.position));
      step(segment.thread);
      if (result_.failure)
        return lines.push_back(result_.failure->message), lines;
      for (size_t i = before; i < threads[segment.thread].size(); ++i)
        lines.push_back(
            describe(partyOf(result_.trace, segment.thread, threads[segment.thread][i])));
    }
  }
  for (uint32_t t = 0; t < interpreter_.numCores(); ++t)
    if (standsAtWait(t)) {
      Event wait = waitOf(t, interpreter_.core(t));
      Party party = partyOf(result_.trace, t, wait);
      party.what += fmt::format(", it is {}", interpreter_.core(t).waiting()->counter->value);
      lines.push_back(describe(party));
    }
  return lines;
}

} // namespace

Recording record(const Subject &subject, const CheckOptions &options, const RunMode &mode) {
  Recorder recorder(subject, options, mode);
  if (mode.isAlone)
    return recorder.runAlone();
  OneAfterTheOther inTurn;
  int64_t cores = device::instances(subject.function, options.cores);
  ByPriority byPriority(mode.seed.value_or(0), static_cast<size_t>(options.ranks * cores));
  return recorder.run(mode.seed ? static_cast<reference::Scheduler &>(byPriority) : inTurn);
}

std::vector<std::string> recordSchedule(const Subject &subject, const CheckOptions &options,
                                        std::string_view schedule) {
  Schedule parsed =
      parseSchedule(schedule, options.ranks, device::instances(subject.function, options.cores));
  RunMode mode{.deadline = std::chrono::steady_clock::now() + options.time};
  return Recorder(subject, options, mode).follow(parsed);
}

} // namespace ditron::checker
