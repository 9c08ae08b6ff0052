// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/check/ExploreProgram.h"
#include "ditron/device/Scope.h"
#include "ditron/reference/Memory.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace ditron::explorer {

using reference::Action;
using reference::CoreMachine;

device::Scope Program::between(const Thread &one, const Thread &other) const {
  if (&one == &other || (one.rank == other.rank && one.core == other.core))
    return device::Scope::core;
  if (one.rank == other.rank)
    return device::Scope::device;
  int64_t local = ranks / nodes;
  return one.rank / local == other.rank / local ? device::Scope::system : device::Scope::network;
}

namespace {

//===-- Bytes ---------------------------------------------------------------------------------===//

void addRows(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides, int64_t at,
             int64_t bytes, std::vector<Span> &spans) {
  if (sizes.empty()) {
    spans.push_back({at * bytes, (at + 1) * bytes});
  } else if (sizes.size() == 1 && strides[0] == 1 && sizes[0] > 0) {
    spans.push_back({at * bytes, (at + sizes[0]) * bytes});
  } else {
    for (int64_t i = 0; i < sizes[0]; ++i)
      addRows(sizes.drop_front(), strides.drop_front(), at + i * strides[0], bytes, spans);
  }
}

/// The bytes of a view.
std::vector<Span> spansOf(const reference::View &view) {
  std::vector<Span> all, merged;
  addRows(view.sizes, view.strides, view.offset, int64_t(byteSize(view.memory->type)), all);
  std::sort(all.begin(), all.end(), [](Span a, Span b) { return a.begin < b.begin; });
  for (Span span : all) {
    if (!merged.empty() && span.begin <= merged.back().end)
      merged.back().end = std::max(merged.back().end, span.end);
    else
      merged.push_back(span);
  }
  return merged;
}

//===-- Recording -----------------------------------------------------------------------------===//

class Recorder {
public:
  Recorder(mlir::func::FuncOp kernel, const reference::Options &options)
      : options_(options), isFixed_(!dependsOnMemory(kernel)) {
    program_.ranks = options.ranks;
    program_.nodes = options.nodes;
    program_.isFixed = isFixed_;
    for (int64_t rank = 0; rank < options.ranks; ++rank)
      for (int64_t core = 0; core < options.cores; ++core)
        program_.threads.push_back({rank, core, {}});
  }

  Program run(mlir::func::FuncOp kernel,
              const std::vector<std::vector<reference::ArgumentValue>> &arguments) {
    options_.waitsPass = isFixed_;
    options_.observer = [this](const Action &action) { add(action); };
    reference::Interpreter interpreter(kernel, arguments, options_);
    if (isFixed_)
      runAlone(interpreter);
    else
      runTogether(interpreter);
    return std::move(program_);
  }

private:
  void runAlone(reference::Interpreter &interpreter) {
    for (int launch = 0; launch < options_.launches; ++launch)
      for (size_t core = 0; core < program_.threads.size(); ++core) {
        enterLaunch(core, launch);
        while (interpreter.step(core) != reference::Outcome::done) {
        }
        leaveLaunch(core, launch);
      }
  }

  void runTogether(reference::Interpreter &interpreter) {
    reference::RandomChoice scheduler(options_.seed);
    std::vector<int> launches(program_.threads.size(), -1);
    std::vector<bool> outside(program_.threads.size(), true);
    try {
      while (!interpreter.isDone()) {
        size_t core = scheduler.pick(interpreter.runnable());
        if (outside[core])
          enterLaunch(core, ++launches[core]);
        outside[core] = interpreter.step(core) == reference::Outcome::done;
        if (outside[core])
          leaveLaunch(core, launches[core]);
      }
    } catch (const RuntimeError &) { // a deadlock, which the waits that are left will show
      for (size_t core = 0; core < program_.threads.size(); ++core)
        if (const auto &wait = interpreter.core(core).waiting())
          addWait(interpreter.core(core), wait->counter, wait->expected);
    }
  }

  //===-- Launches --------------------------------------------------------------------------===//

  /// The launcher starts launch e on a rank when the rank has ended e-1, and every rank e-2.
  void enterLaunch(size_t thread, int64_t launch) {
    auto ended = static_cast<uint64_t>(options_.cores);
    if (launch >= 1)
      addLaunchStep(thread, launch, Step::Kind::wait, program_.threads[thread].rank,
                    launch * ended);
    for (int64_t rank = 0; launch >= 2 && rank < options_.ranks; ++rank)
      addLaunchStep(thread, launch, Step::Kind::wait, rank, (launch - 1) * ended);
  }

  void leaveLaunch(size_t thread, int64_t launch) {
    if (launch + 1 < options_.launches)
      addLaunchStep(thread, launch, Step::Kind::notify, program_.threads[thread].rank, 1);
  }

  void addLaunchStep(size_t thread, int64_t launch, Step::Kind kind, int64_t rank, uint64_t value) {
    if (launchCounters_.empty())
      for (int64_t one = 0; one < options_.ranks; ++one) {
        launchCounters_.push_back(static_cast<uint32_t>(program_.counters.size()));
        program_.counters.push_back(
            {fmt::format("the end of launches on rank {}", one), CounterInfo::Kind::launch});
      }
    Step step;
    step.kind = kind;
    step.launch = launch;
    step.counter = launchCounters_[rank];
    step.value = value;
    append(thread, std::move(step));
  }

  //===-- Actions ---------------------------------------------------------------------------===//

  void add(const Action &action) {
    switch (action.kind) {
    case Action::Kind::read:
    case Action::Kind::write:
    case Action::Kind::atomic:
      return addAccess(action);
    case Action::Kind::putSource:
      putSource_ = touch(*action.view, Touch::Kind::read);
      return;
    case Action::Kind::putTarget:
      return addPut(action);
    case Action::Kind::release:
      return addNotify(action);
    case Action::Kind::acquire:
      return addWait(action.core, action.counter, action.value);
    case Action::Kind::fence:
    case Action::Kind::quiet: {
      Step step = stepOf(action.core, action.kind == Action::Kind::fence ? Step::Kind::fence
                                                                         : Step::Kind::quiet);
      step.scope = device::scopeOf(action.op);
      return append(threadOf(action.core), std::move(step));
    }
    }
  }

  void addAccess(const Action &action) {
    Touch::Kind kind = action.kind == Action::Kind::read    ? Touch::Kind::read
                       : action.kind == Action::Kind::write ? Touch::Kind::write
                                                            : Touch::Kind::atomic;
    Step step = stepOf(action.core, Step::Kind::access);
    step.touches.push_back(touch(*action.view, kind));
    if (!step.touches[0].spans.empty())
      append(threadOf(action.core), std::move(step));
  }

  void addPut(const Action &action) {
    Step step = stepOf(action.core, Step::Kind::put);
    step.peer = action.view->memory->rank;
    step.touches = {std::move(putSource_), touch(*action.view, Touch::Kind::write)};
    append(threadOf(action.core), std::move(step));
  }

  void addNotify(const Action &action) {
    Step step = stepOf(action.core, Step::Kind::notify);
    step.counter = counterOf(action.core, action.op, action.counter);
    auto put = mlir::dyn_cast<device::PutNotifyOp>(action.op);
    auto notify = mlir::dyn_cast<device::NotifyOp>(action.op);
    step.value = 1; // the arrival at a barrier
    if (put || notify) {
      step.value =
          static_cast<uint64_t>(action.core.integer(put ? put.getValue() : notify.getValue()));
      step.mode = put ? put.getMode() : notify.getMode();
      step.relaxed = notify && notify.getRelaxed();
      step.scope = device::scopeOf(action.op);
    }
    append(threadOf(action.core), std::move(step));
  }

  void addWait(const CoreMachine &core, const reference::Counter *counter, uint64_t expected) {
    mlir::Operation *op = core.operation();
    Step step = stepOf(core, Step::Kind::wait);
    step.counter = counterOf(core, op, counter);
    step.value = expected;
    if (auto wait = mlir::dyn_cast<device::WaitOp>(op)) {
      step.exact = wait.getTest() == device::WaitTest::exactly;
      step.take = wait.getTake();
      step.relaxed = wait.getRelaxed();
      step.scope = device::scopeOf(op);
    }
    append(threadOf(core), std::move(step));
  }

  //===-- Parts -----------------------------------------------------------------------------===//

  size_t threadOf(const CoreMachine &core) const {
    return static_cast<size_t>(core.rank() * options_.cores + core.core());
  }

  Step stepOf(const CoreMachine &core, Step::Kind kind) const {
    Step step;
    step.kind = kind;
    step.op = core.operation();
    step.role = core.role().name;
    step.launch = core.launch();
    reference::Extents tile = core.tileCoordinates();
    step.tile.assign(tile.begin(), tile.end());
    return step;
  }

  void append(size_t thread, Step step) {
    program_.threads[thread].steps.push_back(std::move(step));
    if (!isFixed_)
      program_.order.push_back(static_cast<uint32_t>(thread));
  }

  Touch touch(const reference::View &view, Touch::Kind kind) {
    auto [found, isNew] =
        memories_.try_emplace(view.memory.get(), static_cast<uint32_t>(program_.memories.size()));
    if (isNew)
      program_.memories.push_back(
          {view.memory->name, view.memory->rank, view.memory->symmetric != nullptr});
    return {kind, found->second, spansOf(view)};
  }

  uint32_t counterOf(const CoreMachine &core, mlir::Operation *op,
                     const reference::Counter *counter) {
    auto [found, isNew] =
        counters_.try_emplace(counter, static_cast<uint32_t>(program_.counters.size()));
    if (isNew)
      program_.counters.push_back(describeCounter(core, op));
    return found->second;
  }

  static CounterInfo describeCounter(const CoreMachine &core, mlir::Operation *op) {
    auto describe = [&](auto user) {
      const auto &signals = core.get<reference::Signals>(user.getSignals());
      return CounterInfo{reference::describe(signals, core.integers(user.getIndices())),
                         CounterInfo::Kind::signal, signals.rank};
    };
    if (auto notify = mlir::dyn_cast<device::NotifyOp>(op))
      return describe(notify);
    if (auto put = mlir::dyn_cast<device::PutNotifyOp>(op))
      return describe(put);
    if (auto wait = mlir::dyn_cast<device::WaitOp>(op))
      return describe(wait);
    return {"a barrier", CounterInfo::Kind::barrier};
  }

  reference::Options options_;
  bool isFixed_;
  Program program_;
  Touch putSource_;
  std::map<const reference::Memory *, uint32_t> memories_;
  std::map<const reference::Counter *, uint32_t> counters_;
  std::vector<uint32_t> launchCounters_;
};

} // namespace

Program record(mlir::func::FuncOp kernel,
               const std::vector<std::vector<reference::ArgumentValue>> &arguments,
               reference::Options options) {
  return Recorder(kernel, options).run(kernel, arguments);
}

} // namespace ditron::explorer
