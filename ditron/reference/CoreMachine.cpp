// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/reference/CoreMachine.h"
#include "ditron/reference/Semantics.h"
#include "ditron/support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>
#include <new>

namespace ditron::reference {

void CoreMachine::start(mlir::func::FuncOp kernel, llvm::ArrayRef<Value> arguments,
                        int64_t launch) {
  launch_ = launch;
  values_.clear();
  arrivals_.clear();
  op_ = kernel;
  mlir::Block &body = kernel.getBody().front();
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), arguments))
    set(argument, value);
  Role everyone{"", nullptr, 0, world_.cores};
  auto once = [first = true](CoreMachine &, const Values &) mutable {
    return std::exchange(first, false);
  };
  enter(body, once, {}, everyone);
}

Outcome CoreMachine::step() {
  if (isDone())
    return Outcome::done;
  if (!latePuts_.empty() && world_.random() % 4 == 0)
    completePut(world_.random() % latePuts_.size());
  if (wait_) {
    if (!canStep())
      return Outcome::blocked;
    acquire();
  } else if (Frame &frame = frames_.back(); frame.next == frame.block->end()) {
    yield({}); // a block without terminator
  } else {
    execute(*frame.next++);
  }
  if (isDone())
    completePuts();
  return isDone() ? Outcome::done : wait_ ? Outcome::blocked : Outcome::running;
}

/// Whether copy engines pass an op by: what has effects, and what depends on its values.
bool CoreMachine::isForCores(mlir::Operation &op) const {
  if (!isCopyEngine() || frames_.size() > 1 || mlir::isa<mlir::func::ReturnOp>(op))
    return false;
  bool isDeclaration = mlir::isa<device::RoleOp, device::SymmetricOp, device::SignalsOp>(op);
  return (!isDeclaration && !mlir::isMemoryEffectFree(&op)) ||
         llvm::any_of(op.getOperands(),
                      [&](mlir::Value operand) { return !values_.contains(operand); });
}

/// "(tensor<4xf32>, index) -> vector<4xf32>" of an op.
static std::string typesOf(mlir::Operation &op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '(' << op.getOperandTypes() << ") -> (" << op.getResultTypes() << ')';
  return text;
}

void CoreMachine::execute(mlir::Operation &op) {
  if (isForCores(op))
    return;
  op_ = &op;
  std::string_view name = op.getName().getStringRef();
  try {
    meaningOf(op)(*this, &op);
  } catch (const CompileError &error) {
    throw CompileError(fmt::format("{}: {} {}", describe(), name, error.what()));
  } catch (const std::bad_variant_access &) {
    throw CompileError(fmt::format("{}: {} has types {} that the reference interpreter does not "
                                   "take there, expected tiles, scalars, indices or views",
                                   describe(), name, typesOf(op)));
  } catch (const std::bad_alloc &) {
    throw RuntimeError(
        fmt::format("{}: {} asks for more memory than the system gives: check or run "
                    "smaller sizes, fewer ranks or cores",
                    describe(), name));
  }
}

runtime::CorePlace CoreMachine::place() const {
  return {rank_, core_, frames_.empty() ? "" : role().name, reference::describe(op_->getLoc())};
}

mlir::Operation *CoreMachine::next() const {
  if (frames_.empty() || frames_.back().next == frames_.back().block->end())
    return nullptr;
  return &*frames_.back().next;
}

Extents CoreMachine::tileCoordinates() const {
  auto tiles = op_->getParentOfType<device::TilesOp>();
  return tiles ? integers(tiles.getBody().getArguments()) : Extents();
}

//===-- Values --------------------------------------------------------------------------------===//

const Value &CoreMachine::get(mlir::Value value) const {
  auto found = values_.find(value);
  if (found == values_.end())
    throw InternalError("an operand has no value: " + describe());
  return found->second;
}

Values CoreMachine::get(mlir::ValueRange values) const {
  Values result;
  for (mlir::Value value : values)
    result.push_back(get(value));
  return result;
}

Extents CoreMachine::integers(mlir::ValueRange values) const {
  Extents result;
  for (mlir::Value value : values)
    result.push_back(integer(value));
  return result;
}

void CoreMachine::set(mlir::ValueRange values, const Values &now) {
  for (auto [value, one] : llvm::zip_equal(values, now))
    set(value, one);
}

//===-- Blocks --------------------------------------------------------------------------------===//

void CoreMachine::enter(mlir::Block &block, Continuation again, const Values &initial,
                        std::optional<Role> role) {
  if (!again(*this, initial))
    return;
  if (!role)
    role = this->role();
  frames_.push_back({&block, block.begin(), std::move(again), *std::move(role)});
}

void CoreMachine::yield(const Values &values) {
  Frame &frame = frames_.back();
  if (frame.again(*this, values))
    frame.next = frame.block->begin();
  else
    leave();
}

/// Values end with the block that made them.
void CoreMachine::leave() {
  for (mlir::BlockArgument argument : frames_.back().block->getArguments())
    values_.erase(argument);
  for (mlir::Operation &op : *frames_.back().block)
    for (mlir::Value result : op.getResults())
      values_.erase(result);
  frames_.pop_back();
}

bool CoreMachine::isInside(mlir::Block &block) const {
  return llvm::any_of(frames_, [&](const Frame &frame) { return frame.block == &block; });
}

//===-- Others --------------------------------------------------------------------------------===//

/// What a counter becomes.
static uint64_t changed(uint64_t now, device::NotifyMode mode, uint64_t value) {
  switch (mode) {
  case device::NotifyMode::add:
    return now + value;
  case device::NotifyMode::set:
    return std::max(now, value);
  case device::NotifyMode::subtract:
    return now - value;
  case device::NotifyMode::store:
    return value;
  }
  throw InternalError("an unknown mode of dist.notify");
}

void CoreMachine::release(Counter &counter, uint64_t value, device::NotifyMode mode, bool relaxed) {
  if (!relaxed)
    completePuts();
  counter.notifier = {rank_, core_, role().op, value};
  world_.change(counter, changed(counter.value, mode, value), op_->getLoc());
  world_.observe({Action::Kind::release, *this, op_, nullptr, &counter, value, mode});
}

void CoreMachine::put(const View &source, const View &destination) {
  latePuts_.emplace_back(source, destination);
  if (!world_.putsAreLate())
    completePuts();
}

void CoreMachine::completePut(size_t number) {
  auto [source, destination] = latePuts_[number];
  latePuts_.erase(latePuts_.begin() + static_cast<int64_t>(number));
  copyChunk(source, destination);
}

void CoreMachine::completePuts() {
  while (!latePuts_.empty())
    completePut(world_.putsAreLate() ? world_.random() % latePuts_.size() : 0);
}

void CoreMachine::waitFor(Wait wait) {
  wait_ = std::move(wait);
  if (canStep())
    acquire();
}

void CoreMachine::acquire() {
  Wait wait = *std::exchange(wait_, std::nullopt);
  if (wait.take)
    world_.change(*wait.counter, wait.counter->value - wait.expected, op_->getLoc());
  world_.observe({Action::Kind::acquire, *this, op_, nullptr, wait.counter, wait.expected});
}

void CoreMachine::observe(Action::Kind kind, const View *view) const {
  world_.observe({kind, *this, op_, view});
}

} // namespace ditron::reference
