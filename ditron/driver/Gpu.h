// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels on NVIDIA GPUs.
//
//   auto gpu = ditron::Gpu::open();
//   auto run = gpu.compile(gemm());
//   run.launch({A, B, C});              // tensors that borrow memory of the GPU
//   run.wait();
//
// A launch takes the caller's stream (Stream::borrow), and can be recorded in a CUDA graph (Graph).
//
// Kernels of several ranks run on the GPUs of a mesh, which are reached from this process:
//
//   auto mesh = ditron::GpuMesh::open(4);
//   // in a thread for each rank:
//   auto run = mesh.rank(r).compile(allGather());
//   run.prepare({x, y});                // all ranks, before the first launches
//   run.launch({x, y});
//   run.wait();
//
// Ranks launch a kernel equally often, each in one order of its own; one may be ahead of another by
// one launch on the GPU, and by any number in its stream.
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/runtime/nvidia/Device.h"
#include "ditron/runtime/nvidia/Graph.h"
#include "ditron/runtime/nvidia/RankGroup.h"

namespace ditron {

/// A kernel compiled for a GPU, to be used by one thread at a time.
class GpuProgram {
public:
  struct Impl;
  explicit GpuProgram(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  /// Compiles and loads what a launch with such arguments needs, without launching.
  void prepare(const std::vector<KernelArgument> &arguments);
  /// Launches on the GPU's stream and returns. Tensors are of the GPU's memory. CompileError as
  /// Program::launch; RuntimeError with the driver's words.
  void launch(const std::vector<KernelArgument> &arguments);
  /// The same on another stream, of the caller or of a Graph that records it.
  void launch(const std::vector<KernelArgument> &arguments, const runtime::nvidia::Stream &stream);
  /// Waits for the launches on the GPU's stream, or on another one. RuntimeError where one failed,
  /// such as by a wait that outlived its bound, on every rank with the same text; CompileError
  /// where one found that a requirement of the kernel does not hold. The next launch is a new
  /// start.
  void wait();
  void wait(const runtime::nvidia::Stream &stream);
  /// The compilation of the variant launched last.
  CompileReport report() const;
  /// The cores of the variant launched last.
  int cores() const;
  /// Fills the symmetric buffers of this rank with NaN, where no rank is launching.
  void poison();

private:
  std::shared_ptr<Impl> impl_;
};

/// One GPU.
class Gpu {
public:
  /// UnavailableError saying what is missing: a driver, a device, a capability.
  static Gpu open(int ordinal = 0);

  const std::shared_ptr<runtime::nvidia::Device> &device() const { return device_; }
  runtime::nvidia::Stream &stream() const { return *stream_; }
  /// The target that kernels are compiled for.
  const std::string &target() const { return target_; }
  GpuProgram compile(const Kernel &kernel, const Schedule &schedule = {}) const;

  /// The ranks that this one is of: one, unless it comes of a GpuMesh.
  const std::shared_ptr<runtime::nvidia::RankGroup> &group() const { return group_; }
  int rank() const { return rank_; }

private:
  friend class GpuMesh;
  static Gpu of(std::shared_ptr<runtime::nvidia::RankGroup> group, int rank);

  std::shared_ptr<runtime::nvidia::RankGroup> group_;
  int rank_ = 0;
  std::shared_ptr<runtime::nvidia::Device> device_;
  std::shared_ptr<runtime::nvidia::Stream> stream_;
  std::string target_;
};

/// The GPUs of this machine as ranks of this process.
class GpuMesh {
public:
  /// UnavailableError where there is no GPU, or too few for so many ranks.
  static GpuMesh open(int ranks);

  int ranks() const { return group_->ranks(); }
  /// The GPU of a rank. Ranks may share one, and are then given a part of its multiprocessors.
  Gpu rank(int rank) const;
  /// "4 ranks on 2 GPUs, ..."
  std::string describe() const { return group_->describe(); }

private:
  std::shared_ptr<runtime::nvidia::RankGroup> group_;
};

} // namespace ditron
