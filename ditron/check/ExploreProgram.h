// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the explorer explores: for every core the list of what it does to memory and signals.
//
// Where no address, count or branch depends on what is read from memory, a core does the same in
// every schedule. Its list is then recorded by running it by itself, with waits that pass at once,
// and speaks for every schedule. Otherwise the lists are those of one run, in one schedule.
#pragma once
#include "ditron/device/DistOps.h"
#include "ditron/reference/Interpreter.h"
#include <cstdint>
#include <string>
#include <vector>

namespace ditron::explorer {

/// Bytes of a memory.
struct Span {
  int64_t begin, end;
};

/// Bytes that a step reads or writes.
struct Touch {
  enum class Kind { read, write, atomic };
  Kind kind = Kind::read;
  uint32_t memory = 0;     ///< a number of Program::memories
  std::vector<Span> spans; ///< ascending, apart from one another
};

/// One thing that a core does.
struct Step {
  enum class Kind {
    access, ///< loads, stores, gets: done when the step is
    put,    ///< done at any time until a later step of the core orders it
    notify,
    wait,
    fence,
    quiet
  };
  Kind kind = Kind::access;
  mlir::Operation *op = nullptr; ///< null at the start and the end of a launch
  std::string role;
  int64_t launch = 0;
  std::vector<int64_t> tile;

  std::vector<Touch> touches; ///< of an access or a put (source, destination)
  int64_t peer = 0;           ///< of a put

  uint32_t counter = 0; ///< of a notify or wait: a number of Program::counters
  uint64_t value = 0;
  device::NotifyMode mode = device::NotifyMode::add;
  bool exact = false, take = false, relaxed = false;
  device::Scope scope = device::Scope::network; ///< of a notify, wait or fence
};

struct Thread {
  int64_t rank, core;
  std::vector<Step> steps;
};

struct CounterInfo {
  enum class Kind { signal, barrier, launch };
  std::string name; ///< "signal 'ready'[2] of rank 0"
  Kind kind = Kind::signal;
  int64_t rank = 0; ///< where a signal lives
};

struct MemoryInfo {
  std::string name;
  int64_t rank = 0;
  bool isSymmetric = false;
};

struct Program {
  int64_t ranks = 1, nodes = 1;
  std::vector<Thread> threads; ///< by rank, then core
  std::vector<CounterInfo> counters;
  std::vector<MemoryInfo> memories;
  /// Whether the lists are what the cores do in every schedule.
  bool isFixed = true;
  /// The order of one run's steps, by thread; empty if `isFixed`.
  std::vector<uint32_t> order;

  /// The scope that spans two threads.
  device::Scope between(const Thread &one, const Thread &other) const;
};

/// Whether what a kernel touches, whom it notifies or which way it takes can depend on what it
/// reads from memory.
bool dependsOnMemory(mlir::func::FuncOp kernel);

/// The lists of all cores. `seed` chooses the schedule where they depend on memory. CompileError as
/// the interpreter throws it.
Program record(mlir::func::FuncOp kernel,
               const std::vector<std::vector<reference::ArgumentValue>> &arguments,
               reference::Options options);

} // namespace ditron::explorer
