// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the cores of all ranks share: symmetric buffers, signals and barriers. A core that waits,
// whether for a signal or in a barrier, waits for one thing: that a counter has at least a value.
#pragma once
#include "ditron/device/DistOps.h"
#include "ditron/reference/ViewedMemory.h"
#include "ditron/support/MeshAxes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/SymbolTable.h"
#include <functional>
#include <map>
#include <optional>
#include <random>

namespace ditron::reference {

class CoreMachine;

/// A number, with what was done to it, for reports. It only grows, unless a program uses the forms
/// that the language has no word for (device/Scope.h).
struct Counter {
  uint64_t value = 0;
  bool shrank = false;                                 ///< a subtract, store or take was executed
  uint64_t added = 0;                                  ///< by notifies that add
  uint64_t awaited = 0;                                ///< the largest value waited for
  std::optional<device::NotifyMode> mode;              ///< of the notifies so far
  std::optional<mlir::Location> notifiedAt, awaitedAt; ///< the last notify, the largest wait
  struct Notifier {
    int64_t rank = 0, core = 0;
    mlir::Operation *role = nullptr; ///< dist.role, or null
    uint64_t value = 0;              ///< added, or set to
  };
  std::optional<Notifier> notifier; ///< the last one
};

/// What one dist.signals declares, in one launch.
struct SignalArray {
  std::string name;
  int64_t launch = 0;
  Extents extents;
  int64_t firstRank = 0;                      ///< who met the op first
  std::vector<std::vector<Counter>> counters; ///< [rank][row-major index]
};

/// What one dist.symmetric declares.
struct SymmetricBuffer {
  std::string name;
  Extents extents;
  int64_t firstRank = 0;                          ///< who met the op first
  std::vector<std::shared_ptr<Memory>> instances; ///< [rank]
};

/// The cores among which a barrier is, and how often they arrived. A core's n-th arrival waits for
/// the n-th of all of them.
struct Barrier {
  Counter arrivals;
  int64_t cores = 0;     ///< of each rank
  int64_t firstRank = 0; ///< who arrived first
};

/// Something a core did that others can observe.
struct Action {
  enum class Kind {
    read,      ///< of `view`, complete
    write,     ///< of `view`
    atomic,    ///< read and write of `view`, element by element
    putSource, ///< read of `view`, at any time until the next notify or quiet
    putTarget, ///< write of `view`, likewise
    release,   ///< `counter` was changed by `value`, or to it: see `mode`
    acquire,   ///< the wait of `op` for `value` of `counter` ended
    fence,
    quiet
  };
  Kind kind;
  const CoreMachine &core;
  mlir::Operation *op;
  const View *view = nullptr;
  const Counter *counter = nullptr;
  uint64_t value = 0; ///< of a release: the amount added or set; of an acquire: the one expected
  device::NotifyMode mode = device::NotifyMode::add; ///< of a release
};
using Observer = std::function<void(const Action &)>;

/// On a dist.symmetric, an integer: in how many pages the buffer lies, 2 without it. Launch e uses
/// page e mod that. For programs that are to be wrong.
inline constexpr llvm::StringLiteral kPagesAttr = "dist.pages";

/// The ranks, and what they share. One thread.
class World {
public:
  /// `nodes` divides `ranks`, and `mesh` has as many, if it has axes; CompileError otherwise.
  World(int64_t ranks, int64_t cores, int64_t nodes, Observer observer, const MeshAxes &mesh = {});

  const int64_t ranks, cores, nodes;
  const MeshAxes mesh; ///< of all ranks
  /// Waits pass at once, whatever the counter holds: each core can be run by itself, for who wants
  /// to know what it would do.
  bool waitsPass = false;
  /// Of the functions called so far: how many operations a call executes at least.
  llvm::DenseMap<mlir::Operation *, uint64_t> leastOperations;
  /// The functions by name: what is called is found without a look at all of them.
  mlir::SymbolTableCollection symbols;

  /// From here on puts are made at any time that the memory model allows, by the seed.
  void delayPuts(uint64_t seed) {
    putsAreLate_ = true;
    random_.seed(seed);
  }
  bool putsAreLate() const { return putsAreLate_; }
  uint64_t random() { return random_(); }

  /// The instance of `rank`, made on all ranks by the first core that asks. It is filled with 0xFF,
  /// and used again in every second launch (see kPagesAttr). CompileError if the extents differ
  /// between ranks, RuntimeError if there is not that much memory.
  View symmetric(device::SymmetricOp op, int64_t rank, int64_t launch,
                 llvm::ArrayRef<int64_t> extents);
  /// The counters of a launch, 0 at first. CompileError if the extents differ between ranks.
  Signals signals(device::SignalsOp op, int64_t rank, int64_t launch,
                  llvm::ArrayRef<int64_t> extents);
  /// The barrier of a role (null outside of roles) whose cores start at `first`; of `rank`, or, if
  /// that is nullopt, of all ranks.
  Barrier &barrier(int64_t launch, std::optional<int64_t> rank, mlir::Operation *role,
                   int64_t first);

  /// What a counter is: "signal 'ready'[2, 0] of rank 1", "the barrier of role 'add' on rank 0".
  std::string nameOf(const Counter &counter) const;

  /// How often any counter changed: what a waiting core waits for is among them.
  uint64_t changes() const { return changes_; }
  void change(Counter &counter, uint64_t value, mlir::Location where) {
    counter.value = value;
    counter.notifiedAt = where;
    ++changes_;
  }

  /// Tells the observer, if there is one.
  void observe(const Action &action) const {
    if (observer_)
      observer_(action);
  }

  /// Signals that were notified, by adding, more than any wait of the launch asked for: in the next
  /// launch such a wait would pass early.
  std::vector<std::string> unconsumedSignals() const;

private:
  using BarrierKey = std::tuple<int64_t, int64_t, mlir::Operation *, int64_t>;

  Observer observer_;
  bool putsAreLate_ = false;
  std::mt19937_64 random_;
  uint64_t changes_ = 0;
  std::map<std::pair<mlir::Operation *, int64_t>, SymmetricBuffer> buffers_;
  std::map<std::pair<mlir::Operation *, int64_t>, std::shared_ptr<SignalArray>> signals_;
  std::vector<std::shared_ptr<SignalArray>> signalsInOrder_;
  std::map<BarrierKey, Barrier> barriers_;
};

/// The counter at `indices`; CompileError if there is none.
Counter &counterAt(const Signals &signals, llvm::ArrayRef<int64_t> indices);
/// "signal 'ready'[2, 0] of rank 1".
std::string describe(const Signals &signals, llvm::ArrayRef<int64_t> indices);
/// `file:line`, the file without its folders; the caller's line where one was inlined.
std::string describe(mlir::Location location);

} // namespace ditron::reference
