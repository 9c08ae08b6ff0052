// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph of tasks compiled for the ranks of a context, and its launches.
#pragma once
#include "ditron/driver/Program.h"
#include "ditron/task/Plan.h"
#include "ditron/task/TaskGraph.h"
#include <memory>
#include <vector>

namespace ditron {

class Context;

/// How the tasks of a graph are launched. What they compute is the same, bit for bit; on GPUs where the
/// megakernel has as many warps as the kernels (docs/tasks.md).
enum class Mode {
  stream,     ///< one launch a task
  graph,      ///< the same, recorded once: a graph of the device's driver on GPUs
  megakernel, ///< one persistent kernel
};

struct TaskOptions {
  Mode mode = Mode::megakernel;
  /// Its launches are recorded for a timeline: see ditron/profile/Profiler.h.
  bool recorded = false;
};

/// A compiled graph of tasks. A handle: copies mean the same program. Every thread may launch it.
///
/// A launch takes the graph's inputs in the order in which they were declared, then its outputs.
/// Tensors are in the memory of the context's device. What tasks hand to one another lies in memory
/// of the program, made at the first launch with such shapes, and kept for the shapes of the last
/// kMostShapes launches that differ.
class TaskProgram {
public:
  TaskProgram(const Context &context, const TaskGraph &graph, const TaskOptions &options);

  /// Enqueues the step on the context's stream and returns. CompileError naming the input, output or
  /// task where shapes do not fit; otherwise errors are those of a launch: see Program.
  template <class... T> void operator()(const T &...tensors) const { launch({tensors...}); }
  void launch(const std::vector<Tensor> &tensors) const;

  /// Compiles what a launch with such tensors needs, which its first launch does otherwise.
  void prepare(const std::vector<Tensor> &tensors) const;

  static constexpr size_t kMostShapes = 16;
  Mode mode() const;
  const task::Graph &graph() const;
  /// Of a megakernel, the schedule of the last launch, while nobody else launches; null before there was one.
  const task::Plan *lastPlan() const;
  /// Of two programs, the one that was launched last has the larger number; 0: it was not.
  uint64_t lastLaunch() const;

private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

} // namespace ditron
