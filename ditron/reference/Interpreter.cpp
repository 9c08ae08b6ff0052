// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/reference/Interpreter.h"
#include "ditron/runtime/WaitReport.h"
#include "ditron/support/Error.h"
#include "ditron/support/Number.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace ditron::reference {

//===-- Arguments -----------------------------------------------------------------------------===//

namespace {

std::string nameOf(func::FuncOp kernel, unsigned argument) {
  if (auto name = kernel.getArgAttrOfType<StringAttr>(argument, core::kNameAttr))
    return fmt::format("argument '{}'", name.str());
  return fmt::format("argument {}", argument);
}

std::string toString(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

void checkMemory(const std::string &name, MemRefType type, const ArgumentMemory &memory) {
  if (memory.type != elementType(type))
    throw CompileError(fmt::format("{} has elements of {}, expected {}", name,
                                   ditron::name(memory.type), ditron::name(elementType(type))));
  size_t rank = type.getRank();
  if (memory.sizes.size() != rank || memory.strides.size() != rank)
    throw CompileError(fmt::format("{} has {} extents and {} strides, expected {}", name,
                                   memory.sizes.size(), memory.strides.size(), rank));
  for (auto [extent, expected] : llvm::zip_equal(memory.sizes, type.getShape()))
    if (extent < 0 || (!ShapedType::isDynamic(expected) && extent != expected))
      throw CompileError(fmt::format("{} has extents [{}], expected {}", name,
                                     fmt::join(memory.sizes, ", "), toString(type)));
  if (!memory.data && numElements(memory.sizes) > 0)
    throw CompileError(fmt::format("{} has no memory", name));
}

Value viewOf(func::FuncOp kernel, unsigned argument, int64_t rank, const ArgumentMemory &borrowed) {
  checkMemory(nameOf(kernel, argument), cast<MemRefType>(kernel.getArgumentTypes()[argument]),
              borrowed);
  auto memory = std::make_shared<Memory>();
  auto name = kernel.getArgAttrOfType<StringAttr>(argument, core::kNameAttr);
  memory->name = name ? name.str() : nameOf(kernel, argument);
  memory->rank = rank;
  memory->type = borrowed.type;
  memory->data = static_cast<std::byte *>(borrowed.data);
  memory->readOnly = bool(kernel.getArgAttr(argument, core::kReadOnlyAttr));
  return View{memory, 0, Extents(borrowed.sizes.begin(), borrowed.sizes.end()),
              Extents(borrowed.strides.begin(), borrowed.strides.end())};
}

/// Whether a float is a number of a type: of integers those that are whole, as on every backend.
bool isNumberOf(Type type, double real) {
  return isa<FloatType>(type) ||
         (isa<IntegerType>(type) && reasonAgainst(elementType(type), real).empty());
}

/// A number given for a scalar.
Value elementOf(Type type, const Number &number) {
  if (isa<FloatType>(type))
    return roundTo(elementType(type), number.real());
  return wrapTo(elementType(type), number.integer());
}

Value valueOf(func::FuncOp kernel, unsigned argument, int64_t rank, const ArgumentValue &given) {
  Type type = kernel.getArgumentTypes()[argument];
  if (auto *memory = std::get_if<ArgumentMemory>(&given); memory && isa<MemRefType>(type))
    return viewOf(kernel, argument, rank, *memory);
  if (auto *integer = std::get_if<int64_t>(&given); integer && type.isIntOrIndexOrFloat())
    return elementOf(type, *integer);
  if (auto *real = std::get_if<double>(&given); real && isNumberOf(type, *real))
    return elementOf(type, *real);
  constexpr const char *kinds[] = {"memory", "an integer", "a float"};
  throw CompileError(fmt::format("{} is {}, expected {}", nameOf(kernel, argument),
                                 kinds[given.index()], toString(type)));
}

void checkKernel(func::FuncOp kernel) {
  if (!kernel.getBody().hasOneBlock())
    throw CompileError(fmt::format("kernel '{}' has {} blocks, expected 1",
                                   std::string_view(kernel.getName()),
                                   kernel.getBody().getBlocks().size()));
  if (device::isPlaced(kernel))
    throw CompileError(fmt::format("kernel '{}' has placed arguments, expected its verbs: "
                                   "dist-place-arguments and dist-place-results write them",
                                   std::string_view(kernel.getName())));
}

} // namespace

Interpreter::Interpreter(func::FuncOp kernel,
                         const std::vector<std::vector<ArgumentValue>> &arguments,
                         const Options &options)
    : kernel_(kernel), instances_(device::instances(kernel, options.cores)),
      world_(options.ranks, options.cores, options.nodes, options.observer, options.mesh),
      launches_(options.ranks, 0), unfinished_(options.ranks, 0), lastLaunch_(options.launches),
      time_(options.time) {
  checkKernel(kernel);
  if (options.latePuts)
    world_.delayPuts(options.seed);
  if (options.launches < 1)
    throw CompileError(fmt::format("a run needs 1 or more launches, found {}", options.launches));
  if (static_cast<int64_t>(arguments.size()) != options.ranks)
    throw CompileError(fmt::format("there are arguments for {} ranks, expected {}",
                                   arguments.size(), options.ranks));
  world_.waitsPass = options.waitsPass;
  for (int64_t rank = 0; rank < options.ranks; ++rank) {
    if (arguments[rank].size() != kernel.getNumArguments())
      throw CompileError(fmt::format("kernel '{}' is given {} arguments on rank {}, expected {}",
                                     std::string_view(kernel.getName()), arguments[rank].size(),
                                     rank, kernel.getNumArguments()));
    Values &values = arguments_.emplace_back();
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
      values.push_back(valueOf(kernel, i, rank, arguments[rank][i]));
    for (int64_t core = 0; core < instances_; ++core)
      cores_.emplace_back(world_, rank, core);
  }
  startLaunches();
}

//===-- Execution -----------------------------------------------------------------------------===//

/// A rank begins a launch when it has completed the one before, and every rank the one before that.
void Interpreter::startLaunches() {
  auto isComplete = [&](int64_t rank, int64_t launch) {
    return launches_[rank] > launch + 1 || (launches_[rank] == launch + 1 && !unfinished_[rank]);
  };
  for (int64_t rank = 0; rank < world_.ranks; ++rank) {
    int64_t next = launches_[rank];
    bool ready = next < lastLaunch_ && unfinished_[rank] == 0;
    for (int64_t peer = 0; ready && next >= 2 && peer < world_.ranks; ++peer)
      ready = isComplete(peer, next - 2);
    if (ready)
      startLaunch(rank);
  }
}

void Interpreter::startLaunch(int64_t rank) {
  for (int64_t core = 0; core < instances_; ++core)
    cores_[rank * instances_ + core].start(kernel_, arguments_[rank], launches_[rank]);
  ++launches_[rank];
  unfinished_[rank] = instances_;
}

bool Interpreter::isDone() const {
  return llvm::all_of(unfinished_, [](int64_t cores) { return cores == 0; });
}

const std::vector<size_t> &Interpreter::runnable() {
  if (steppable().empty() && !isDone())
    reportDeadlock();
  return runnable_;
}

const std::vector<size_t> &Interpreter::steppable() {
  if (!stale_)
    return runnable_;
  runnable_.clear();
  for (size_t number = 0; number < cores_.size(); ++number)
    if (!cores_[number].isDone() && cores_[number].canStep())
      runnable_.push_back(number);
  stale_ = false;
  return runnable_;
}

void Interpreter::pretendArrival(size_t number) {
  cores_[number].pretendArrival();
  stale_ = true;
}

void Interpreter::checkTime() const {
  if (std::chrono::steady_clock::now() - start_ > time_)
    throw RuntimeError(fmt::format(
        "the interpreter was ended after {} s, its time, and {} operations: run smaller sizes, or "
        "give it more (DITRON_LAUNCH_TIMEOUT_MS)",
        static_cast<double>(time_.count()) / 1000, steps_));
}

Outcome Interpreter::step(size_t number) {
  if (steps_ % 16 == 0 && time_ != std::chrono::milliseconds::max())
    checkTime();
  CoreMachine &core = cores_[number];
  uint64_t changes = world_.changes();
  Outcome outcome = core.step();
  ++steps_;
  stale_ |= outcome != Outcome::running || world_.changes() != changes;
  if (outcome == Outcome::done && --unfinished_[core.rank()] == 0)
    startLaunches();
  return outcome;
}

void Interpreter::run(Scheduler &scheduler) {
  while (!isDone())
    step(scheduler.pick(runnable()));
}

namespace {

/// "outer/inner".
std::string rolePath(Operation *role) {
  std::string path;
  for (; role; role = role->getParentOp())
    if (auto op = dyn_cast<device::RoleOp>(role))
      path = fmt::format("{}{}{}", std::string_view(op.getName()), path.empty() ? "" : "/", path);
  return path;
}

std::string_view verb(device::NotifyMode mode) {
  switch (mode) {
  case device::NotifyMode::add:
    return "added";
  case device::NotifyMode::set:
    return "set it to";
  case device::NotifyMode::subtract:
    return "subtracted";
  case device::NotifyMode::store:
    return "stored";
  }
  throw InternalError("an unknown mode of dist.notify");
}

std::string describeWait(const CoreMachine &core) {
  const Wait &wait = *core.waiting();
  const Counter &counter = *wait.counter;
  std::string_view what = wait.what;
  std::string own = fmt::format(" of rank {}", core.rank());
  if (what.ends_with(own))
    what.remove_suffix(own.size());
  bool isBarrier = !counter.awaitedAt;
  std::string note(isBarrier ? "" : runtime::kNeverNotified);
  if (counter.notifier && !isBarrier) {
    const Counter::Notifier &last = *counter.notifier;
    note = runtime::describeNotifier(
        {last.rank, last.core, rolePath(last.role), describe(*counter.notifiedAt)},
        verb(*counter.mode), last.value);
  }
  return runtime::describe(
      runtime::WaitProgress{fmt::format("waits {} {}{}", isBarrier ? "at" : "for", what,
                                        wait.exact ? " to be just that" : ""),
                            wait.expected, counter.value, note});
}

} // namespace

void Interpreter::reportDeadlock() const {
  std::vector<runtime::CoreLine> lines;
  for (const CoreMachine &core : cores_)
    if (core.waiting())
      lines.push_back({core.place(), describeWait(core)});
    else
      lines.push_back({{core.rank(), core.core(), "", ""}, "has finished"});
  throw RuntimeError(
      runtime::formatReport("deadlock: nobody is left to notify those who wait", lines));
}

Result interpret(func::FuncOp kernel, const std::vector<std::vector<ArgumentValue>> &arguments,
                 const Options &options) {
  Interpreter interpreter(kernel, arguments, options);
  RoundRobin inTurn;
  RandomChoice byChance(options.seed);
  interpreter.run(options.randomSchedule ? static_cast<Scheduler &>(byChance) : inTurn);
  return interpreter.result();
}

} // namespace ditron::reference
