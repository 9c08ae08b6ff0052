// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel compiled for the ranks of a context, and its launches.
#pragma once
#include "ditron/abi/CompileRequest.h"
#include "ditron/driver/Stream.h"
#include "ditron/lang/Kernel.h"
#include "ditron/runtime/device/Device.h"
#include "ditron/support/Error.h"
#include <concepts>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ditron {

using runtime::CompileReport;
using runtime::KernelArgument;
using runtime::LaunchStats;
using runtime::Tensor;

/// What is compiled beside the kernel itself.
struct CompileOptions {
  /// Its launches are recorded for a timeline: see ditron/profile/Profiler.h.
  bool recorded = false;
  /// Of a kernel of a graph, for each argument: see task::graphArguments. May be shorter.
  std::vector<GraphArgument> graphArguments = {};
  /// It is launched from a CUDA graph, not by itself: see CompileRequest::inGraph.
  bool inGraph = false;
};

/// What a launch took, asked for once it is done.
class Timing {
public:
  explicit Timing(std::shared_ptr<runtime::DeviceTiming> timing) : timing_(std::move(timing)) {}
  /// Waits for the launch, which has to have gone well: Stream::wait says so.
  LaunchStats stats() const { return timing_->stats(); }

private:
  std::shared_ptr<runtime::DeviceTiming> timing_;
};

/// A compiled kernel. A handle: copies mean the same program. Every thread may use it; launches of
/// several threads are done in the order in which they are enqueued.
///
/// Arguments come in the order of the signature: tensors, integers for Index, numbers for Scalar.
/// Tensors are in the memory of the context's device; one that is written overlaps no other one,
/// but for outputs that the kernel computes in place. Every rank launches, all of them the same
/// kernels in the same order; one may be ahead of another by one launch on the device, and by any
/// number in its stream.
class Program {
public:
  struct Impl;
  class OnStream;
  explicit Program(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  /// Enqueues a launch on the context's stream and returns. CompileError naming argument, found and
  /// expected where shapes, types, kinds or memory do not fit the signature. What fails later is
  /// thrown by Stream::wait, Context::sync and whatever else waits.
  template <class... A> void operator()(const A &...arguments) const {
    launch({toArgument(arguments)...});
  }
  void launch(const std::vector<KernelArgument> &arguments) const;

  /// The same on another stream of the context, or on one that a graph records:
  /// `run.on(stream)(A, B, C)`.
  OnStream on(const Stream &stream) const;
  /// `tasks`: of a graph, that the launch does, for reports of waits; null: none.
  void launch(const std::vector<KernelArgument> &arguments, const Stream &stream,
              const std::shared_ptr<const runtime::LaunchTasks> &tasks = nullptr) const;

  /// Launches, waits, and says how long it took: from the first core's start to the last one's end,
  /// and what else the device knows. Throws the error of the launch.
  template <class... A> LaunchStats timed(const A &...arguments) const {
    return timedLaunch({toArgument(arguments)...});
  }
  LaunchStats timedLaunch(const std::vector<KernelArgument> &arguments) const;
  /// Enqueues a launch that can be asked what it took once it is done.
  Timing launchTimed(const std::vector<KernelArgument> &arguments) const;

  /// Makes the variant that a launch with such arguments takes, which its first launch does
  /// otherwise. Errors as of a launch.
  void prepare(const std::vector<KernelArgument> &arguments) const;

  /// The compilation of the variant prepared or launched last.
  CompileReport report() const;
  /// The cores of that variant's launches.
  int cores() const;
  const Signature &signature() const;
  /// Fills the symmetric buffers of this rank with NaN, for tests: a kernel that reads what nobody
  /// wrote shows it. Where no rank is launching.
  void poison() const;

  static KernelArgument toArgument(const Tensor &tensor) { return tensor; }
  /// CompileError where the integer is beyond those of 64 bits.
  template <std::integral N> static KernelArgument toArgument(N n) {
    if constexpr (std::unsigned_integral<N> && sizeof(N) == sizeof(int64_t))
      if (n > uint64_t(std::numeric_limits<int64_t>::max()))
        throw CompileError("an argument is " + std::to_string(n) +
                           ", expected an integer of up to 2^63 - 1");
    return int64_t(n);
  }
  template <std::floating_point F> static KernelArgument toArgument(F f) { return double(f); }

private:
  std::shared_ptr<Impl> impl_;
};

/// A program with the stream that it is launched on.
class Program::OnStream {
public:
  OnStream(Program program, Stream stream)
      : program_(std::move(program)), stream_(std::move(stream)) {}
  template <class... A> void operator()(const A &...arguments) const {
    program_.launch({toArgument(arguments)...}, stream_);
  }

private:
  Program program_;
  Stream stream_;
};

inline Program::OnStream Program::on(const Stream &stream) const { return {*this, stream}; }

} // namespace ditron
