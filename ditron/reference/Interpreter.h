// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference interpreter: what a kernel means, for R ranks of C cores in one process and one
// thread. Every other backend is compared with it.
//
//   interpret()    runs a kernel to its end
//   Interpreter    the same step by step, for whoever wants to choose the interleaving
//
#pragma once
#include "ditron/reference/CoreMachine.h"
#include "ditron/reference/Scheduler.h"
#include "ditron/support/MeshAxes.h"
#include <chrono>

namespace ditron::reference {

/// Memory of the caller: element (i, j, ...) stands at data + (i*strides[0] + j*strides[1] + ...)
/// elements.
struct ArgumentMemory {
  void *data = nullptr;
  DType type = DType::f32;
  std::vector<int64_t> sizes, strides; ///< in elements
};
/// An argument of a kernel: memory, an index or integer, or a float.
using ArgumentValue = std::variant<ArgumentMemory, int64_t, double>;

struct Options {
  int64_t ranks = 1;
  int64_t cores = 1;  ///< of each rank
  int64_t nodes = 1;  ///< into which the ranks divide
  MeshAxes mesh = {}; ///< of all ranks, where its axes have names of their own
  uint64_t seed = 0;
  bool randomSchedule = false; ///< by the seed; round robin otherwise
  int launches = 1;            ///< back to back; a rank may run ahead of another, by one launch
  bool latePuts = false;  ///< puts are made at any time that the memory model allows, by the seed
  bool waitsPass = false; ///< see World
  /// How long a run may take.
  std::chrono::milliseconds time = std::chrono::milliseconds::max();
  Observer observer; ///< sees every action on memory and signals, if set
};

struct Result {
  /// What is wrong with the kernel although the run ended: signals that a launch notifies, by
  /// adding, more than any of its waits asks for, with where. In a later launch waits would pass
  /// early.
  std::vector<std::string> warnings;
  uint64_t steps = 0; ///< operations executed
};

/// A kernel in execution.
class Interpreter {
public:
  /// `arguments[rank]` are those of the kernel, in its order; the memory is borrowed until the end
  /// of the run. CompileError, naming the argument, what was found and what was expected, where
  /// they do not fit.
  Interpreter(mlir::func::FuncOp kernel, const std::vector<std::vector<ArgumentValue>> &arguments,
              const Options &options);
  Interpreter(const Interpreter &) = delete; // the cores refer to what they share
  Interpreter &operator=(const Interpreter &) = delete;

  /// Whether every core has finished its last launch.
  bool isDone() const;
  /// Numbers (rank * instances + core), ascending, of the cores that can step, the copy engines of
  /// a rank being one (device::instances); empty when all are done.
  /// RuntimeError if all unfinished cores wait: a deadlock, with what each of them waits for.
  const std::vector<size_t> &runnable();
  /// The same, but a deadlock is no error: then it is empty although not all are done.
  const std::vector<size_t> &steppable();
  /// Lets a core that waits go on as if what it waits for had come.
  void pretendArrival(size_t core);
  /// Executes one operation of one runnable core. CompileError where the program is wrong,
  /// RuntimeError where the time of the run is over.
  Outcome step(size_t core);
  /// Runs to the end.
  void run(Scheduler &scheduler);

  size_t numCores() const { return cores_.size(); }
  const CoreMachine &core(size_t number) const { return cores_[number]; }
  const World &world() const { return world_; }
  Result result() const { return {world_.unconsumedSignals(), steps_}; }

private:
  void startLaunch(int64_t rank);
  void startLaunches();
  void checkTime() const;
  [[noreturn]] void reportDeadlock() const;

  mlir::func::FuncOp kernel_;
  int64_t instances_; ///< of each rank
  World world_;
  std::vector<CoreMachine> cores_;
  std::vector<Values> arguments_;   ///< of each rank
  std::vector<int64_t> launches_;   ///< started on each rank
  std::vector<int64_t> unfinished_; ///< cores of each rank, in its launch
  int64_t lastLaunch_;
  std::vector<size_t> runnable_;
  bool stale_ = true; ///< runnable_ has to be found anew
  uint64_t steps_ = 0;
  std::chrono::milliseconds time_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Runs `kernel` on `arguments[rank]`. Throws as Interpreter does.
Result interpret(mlir::func::FuncOp kernel,
                 const std::vector<std::vector<ArgumentValue>> &arguments, const Options &options);

} // namespace ditron::reference
