// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One core of one rank, as a machine with an explicit stack. step() executes one operation, so that
// whoever calls it decides how the cores interleave.
//
// A frame of the stack is a block in execution. Before every run of the block, the first one
// included, the op that entered it is asked whether to run it (again); it is given what the last
// run yielded. All control flow is an answer to this question:
//
//     scf.for      counts, and passes the yielded values on to the next run
//     scf.if       once; the yielded values become the results
//     func.call    once, likewise
//     dist.tiles   once for every tile that is dealt to this core
//     dist.role    once, if this core is one of the role's
//
// The copy engines of a rank are one more core, numbered behind the others. It executes the roles
// that are theirs, and what these take that stands at the top of the kernel.
//
#pragma once
#include "ditron/reference/World.h"
#include "ditron/runtime/WaitReport.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"

namespace ditron::reference {

/// The cores that execute a part of the program together.
struct Role {
  std::string name;              ///< "outer/inner"; empty outside of roles
  mlir::Operation *op = nullptr; ///< dist.role, null outside of roles
  int64_t first = 0;             ///< the first core, counted on the rank
  int64_t count = 0;
};

/// What a core waits for: that `counter` has at least `expected`, or that very value.
struct Wait {
  std::string what; ///< "signal 'ready'[2] of rank 0"
  Counter *counter;
  uint64_t expected;
  bool exact = false;
  bool take = false; ///< `expected` is subtracted as it is seen

  bool isMet() const { return exact ? counter->value == expected : counter->value >= expected; }
};

/// What became of a core by a step.
enum class Outcome { running, blocked, done };

class CoreMachine {
public:
  /// Asked before every run of a block: run it? `yielded` is what the last run yielded, or, before
  /// the first, what enter() was given. It sets the block's arguments, or the op's results.
  using Continuation = std::function<bool(CoreMachine &, const Values &yielded)>;

  CoreMachine(World &world, int64_t rank, int64_t core) : world_(world), rank_(rank), core_(core) {}

  /// Puts the core before the first operation of the kernel.
  void start(mlir::func::FuncOp kernel, llvm::ArrayRef<Value> arguments, int64_t launch);

  /// Executes one operation, or looks whether what the core waits for has come. CompileError with
  /// location, rank, core and role where the program is wrong.
  Outcome step();
  bool isDone() const { return frames_.empty(); }
  /// Goes on as if what the core waits for had come: to see what it would do then.
  void pretendArrival() { wait_.reset(); }
  /// False while the core waits for something that has not come.
  bool canStep() const { return !wait_ || wait_->isMet() || world_.waitsPass; }

  //===-- Who and where ---------------------------------------------------------------------===//

  World &world() const { return world_; }
  int64_t rank() const { return rank_; }
  int64_t core() const { return core_; } ///< on the rank
  /// Whether it stands for the copy engines of the rank.
  bool isCopyEngine() const { return core_ == world_.cores; }
  int64_t launch() const { return launch_; }
  const Role &role() const { return frames_.back().role; }
  /// What the core waits for, if it does.
  const std::optional<Wait> &waiting() const { return wait_; }
  /// Where it is: at the op that it executes now, or executed last.
  runtime::CorePlace place() const;
  /// The operation in execution, or executed last.
  mlir::Operation *operation() const { return op_; }
  /// The operation that step() will execute, unless the core waits; null at the end of a block that
  /// has no terminator, and at the end of the kernel.
  mlir::Operation *next() const;
  /// Coordinates of the iteration of dist.tiles that the operation stands in; none outside of one.
  Extents tileCoordinates() const;
  /// "rank 1, core 0, role 'multiply', gemm.cpp:12".
  std::string describe() const { return runtime::describe(place()); }

  //===-- For the semantics of operations ---------------------------------------------------===//

  const Value &get(mlir::Value value) const;
  Values get(mlir::ValueRange values) const;
  template <class T> const T &get(mlir::Value value) const { return std::get<T>(get(value)); }
  const Tile &tile(mlir::Value value) const { return *get<TileRef>(value); }
  int64_t integer(mlir::Value value) const { return get<int64_t>(value); }
  Extents integers(mlir::ValueRange values) const;

  void set(mlir::Value value, Value now) { values_[value] = std::move(now); }
  void set(mlir::Value value, Tile now) { set(value, std::make_shared<Tile>(std::move(now))); }
  void set(mlir::ValueRange values, const Values &now);

  /// Runs a block as often as `again` says. In a role, if one is given.
  void enter(mlir::Block &block, Continuation again, const Values &initial = {},
             std::optional<Role> role = std::nullopt);
  /// Ends a run of the block in execution.
  void yield(const Values &values);
  /// Whether a block is in execution, on any level.
  bool isInside(mlir::Block &block) const;

  /// Changes a counter by `value`, or to it; unless `relaxed`, after all that the core did before.
  void release(Counter &counter, uint64_t value, device::NotifyMode mode, bool relaxed = false);
  /// Copies a chunk by the next release, quiet or end of the kernel: at once, unless the world's
  /// puts are late.
  void put(const View &source, const View &destination);
  /// Copies what has not been copied yet.
  void completePuts();
  /// Goes on only once the counter is there; then sees all that its releases came after.
  void waitFor(Wait wait);
  /// How often this core has arrived at a barrier, this time included.
  uint64_t arrive(const Barrier &barrier) { return ++arrivals_[&barrier]; }
  void observe(Action::Kind kind, const View *view = nullptr) const;

private:
  struct Frame {
    mlir::Block *block;
    mlir::Block::iterator next;
    Continuation again;
    Role role;
  };

  bool isForCores(mlir::Operation &op) const;
  void execute(mlir::Operation &op);
  void acquire();
  void leave();
  void completePut(size_t number);

  World &world_;
  int64_t rank_, core_, launch_ = 0;
  std::vector<Frame> frames_;
  llvm::DenseMap<mlir::Value, Value> values_;
  mlir::Operation *op_ = nullptr; ///< in execution, or executed last
  std::optional<Wait> wait_;
  std::map<const Barrier *, uint64_t> arrivals_;
  std::vector<std::pair<View, View>> latePuts_; ///< from, to; in no order
};

} // namespace ditron::reference
