// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph as one persistent kernel: a megakernel of tile + dist.
//
//   func.func @mlp(%x: ..., %up0: ..., %up1: ..., %queue: ..., %tasks: ..., %waits: ..., %h0: ...) {
//     %done = dist.signals "done"(%cores + 5)                    // tasks done, by core and by node
//     scf.for %t = %queue[core] to %queue[core + 1] {            // the tasks of this core
//       scf.for %w = 0 to %tasks[%t, 1] {                        // the first wait, and others
//         %counter, %count = scf.if %w == 0 { %tasks[%t, 2], %tasks[%t, 3] }
//                            else { %waits[%tasks[%t, 4] + %w - 1, 0 and 1] }
//         dist.wait %done[%counter] >= %count
//       }
//       scf.if %tasks[%t, 0] == 0 {                              // the first type: its body, once
//         %w = tile.select_view %tasks[%t, 10] of (%up0, %up1)
//         dist.tiles (%i, %j) of (...) from %tasks[%t, 8] to %tasks[%t, 9] { ... }
//       }
//       ...
//       scf.if %tasks[%t, 5] >= 0 {                              // somebody waits for the whole node
//         dist.notify %done[%cores + %tasks[%t, 5]] add 1
//       }
//       scf.if %tasks[%t, 6] >= 1 {                              // or for this task
//         dist.notify %done[core] add %tasks[%t, 6]
//       }
//     }
//
// The body of a type stands there once, whatever the number of its nodes: what differs between them
// are numbers in tables. So code and compile time do not grow with the layers of a model, and
// another schedule needs no other code. It is an ordinary kernel: launches, the interpreter, the
// checker, bounded waits and timelines take it as they take any other.
#pragma once
#include "ditron/task/Plan.h"

namespace ditron::task {

/// The tables that a launch of the kernel takes, row-major.
struct Tables {
  std::vector<int64_t> queue; ///< [cores + 1]: where each core's tasks begin
  std::vector<int64_t> tasks; ///< [tasks, columns]
  std::vector<int64_t> waits; ///< [waits, 2]: counter and count, of waits behind a task's first
  int64_t columns = 0;
};

class FusedKernel {
public:
  /// CompileError naming the task that cannot be part of one kernel.
  /// `footprints`: of the graph's types. `known`: the shapes of all launches, as knownShapes gives them; the
  /// code takes no others. Nothing is known where there are none. `selfSignaling`: the values that are
  /// (task/SelfSignaling.h); empty: none is. The graph has to outlive it.
  FusedKernel(const Graph &graph, const std::vector<Footprint> &footprints, Shapes known = {},
              std::vector<bool> selfSignaling = {});

  const Kernel &kernel() const { return *kernel_; }
  /// Which value each of the kernel's arguments is: inputs[n], then the three tables, then outputs[n].
  const std::vector<size_t> &inputs() const { return inputs_; }
  const std::vector<size_t> &outputs() const { return outputs_; }

  Tables tablesOf(const Plan &plan) const;
  /// Throws an InternalError unless these are the shapes of a launch of this kernel.
  void requireShapes(const Shapes &shapes) const;

private:
  friend class Fuser;
  /// A node's operand as a column of the table has it.
  int64_t column(const Node &node, size_t argument) const;
  /// What all nodes of a type pass for a number, if it is the same.
  std::optional<int64_t> commonWord(size_t type, size_t argument) const;

  const Graph &graph_;
  Shapes known_;
  std::vector<bool> selfSignaling_; ///< of the values
  std::optional<Kernel> kernel_;
  std::vector<size_t> inputs_, outputs_;
  /// Of each type and argument: the values that its nodes pass.
  std::vector<std::vector<std::vector<size_t>>> choices_;
  std::vector<int64_t> instances_; ///< of each node, its number among those of its type
  int64_t columns_ = 0;
};

} // namespace ditron::task
