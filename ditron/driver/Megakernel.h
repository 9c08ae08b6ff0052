// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph of tasks as one kernel: its code, and a schedule for each set of shapes.
#pragma once
#include "ditron/driver/PlanTasks.h"
#include "ditron/driver/Program.h"
#include "ditron/task/Fuse.h"

namespace ditron {

class Context;

/// What code of a target for a graph is compiled for: on GPUs, the shapes that launches of this number of ranks have in
/// common. Code of CPUs gains nothing by them, and serves launches of all shapes.
task::Shapes shapesOfLaunches(std::string_view target, const task::Graph &graph, int64_t ranks);

/// The values of a graph that signal themselves (task/SelfSignaling.h) where a target's code had better have such.
/// `known`: what shapesOfLaunches gives.
std::vector<bool> selfSignalingFor(std::string_view target, const task::Graph &graph,
                                   const std::vector<task::Footprint> &footprints,
                                   const task::Shapes &known, const task::Machine &machine);

class Megakernel {
public:
  /// CompileError naming a task that cannot be part of one kernel.
  Megakernel(const Context &context, std::shared_ptr<const task::Graph> graph,
             const CompileOptions &options);

  /// The schedule for values of these shapes, in the memory of the device.
  struct Schedule {
    Tensor queue, tasks, waits;
    task::Plan plan;                                   ///< what these say
    std::shared_ptr<const runtime::LaunchTasks> names; ///< the same, for reports
  };
  Schedule schedule(const task::Shapes &shapes) const;

  /// Where values lie that signal themselves (task/SelfSignaling.h): `all`, which is a copy of `unwritten`
  /// when a launch begins. Null where there are none.
  struct Signaling {
    Tensor all, unwritten;
  };
  /// Takes the place of those values' memory.
  Signaling makeSignaling(const task::Shapes &shapes, std::vector<Tensor> &values) const;

  /// What the kernel is launched with; `values`: the tensor of each value of the graph.
  std::vector<KernelArgument> arguments(const std::vector<Tensor> &values,
                                        const Schedule &schedule) const;
  const Program &program() const { return program_; }

private:
  std::shared_ptr<const task::Graph> graph_;
  std::shared_ptr<runtime::Device> device_;
  task::Machine machine_;
  std::shared_ptr<const std::vector<task::Footprint>> footprints_;
  task::Shapes known_;              ///< at all launches
  std::vector<bool> selfSignaling_; ///< of the values; empty: none is
  task::FusedKernel fused_;
  Program program_;
};

} // namespace ditron
