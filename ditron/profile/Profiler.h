// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records the launches of kernels:
//
//   profile::Profiler profiler(ctx);
//   Program run = profiler.compile(agGemm());
//   run(A, B, C);
//   profile::Timeline timeline = profiler.timeline();         // every rank calls it
//   if (ctx.rank() == 0)
//     writeFile("t.html", profile::page(timeline, "AG+GEMM")); // Export.h, support/File.h
//
// Only kernels that a profiler compiled are recorded, and only their code has anything to do with
// it: others run as they do without. Options::events is the room of each core's log.
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/profile/Timeline.h"
#include <memory>

namespace ditron::profile {

/// The profiler of a rank. One at a time; must not outlive its context. It records kernels or
/// graphs of tasks.
class Profiler {
public:
  /// UnavailableError where the context's backend records nothing, UsageError where the context has another one.
  explicit Profiler(Context &context);
  ~Profiler();
  Profiler(const Profiler &) = delete;
  Profiler &operator=(const Profiler &) = delete;

  /// As Context::compile, for a program whose launches are recorded while there is a profiler.
  Program compile(const Kernel &kernel, const Schedule &schedule = {});

  /// The same for a graph, as one kernel or as a launch for each task. In its timeline a task is a role.
  TaskProgram compile(const TaskGraph &graph, const TaskOptions &options = {});

  /// The last launch that was recorded, or the last step of a graph, of all ranks, with its arrows; on
  /// rank 0, and empty elsewhere. Collective. RuntimeError where a rank has recorded none, or another
  /// kernel's.
  Timeline timeline();

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace ditron::profile
