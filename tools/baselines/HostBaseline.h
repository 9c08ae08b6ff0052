// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel on CPUs is timed beside. A baseline is made on every rank and runs on all of them
// in turn with the kernel, so that both see the same machine.
#pragma once
#include "ditron/driver/Context.h"
#include "tools/baselines/Work.h"
#include <memory>

namespace ditron::baselines {

class HostBaseline {
public:
  virtual ~HostBaseline() = default;
  /// What it is, for the report: "openblas", "copy", "all-gather, gemm", ...
  virtual std::string name() const = 0;
  /// Where its numbers come from, for a line of bench/baselines: "OpenBLAS 0.3.21 ..."
  virtual std::string version() const { return ""; }
  /// What is wrong with the kernel cache that its kernels came from; empty: nothing.
  virtual std::string cacheProblem() const { return ""; }
  /// Runs this rank's part once; its seconds. Every rank calls it.
  virtual double run() = 0;
  /// Whether threads of its own spin for a while after a run, and would take the cores from what
  /// runs next.
  virtual bool leavesThreadsSpinning() const { return false; }
};

/// The kernel's baseline on this machine, on the operands of this rank:
///   a copy      of as many bytes as the kernel moves, by as many threads, between large buffers
///   a read      of the kernel's inputs, by as many threads
///   a product   in f32 by OpenBLAS with the threads of all ranks, on rank 0, group after group
///               where it is grouped; of other types by ditron's own product in f32
///   a sequence  of ditron's kernels, for those that overlap a product with a collective
/// Null where the kernel has none. UnavailableError where the machine lacks it.
std::unique_ptr<HostBaseline> makeHostBaseline(Context &context, const Work &work,
                                               const std::vector<KernelArgument> &operands);

} // namespace ditron::baselines
