// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of one rank on an NVIDIA GPU.
//
//   auto gpu = ditron::Gpu::open();
//   auto run = gpu.compile(gemm());
//   run.launch({A, B, C});              // tensors that borrow memory of the GPU
//   run.wait();
//
// A launch takes the caller's stream (Stream::borrow), and can be recorded in a CUDA graph (Graph).
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/runtime/nvidia/Device.h"
#include "ditron/runtime/nvidia/Graph.h"

namespace ditron {

/// A kernel compiled for a GPU.
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
  /// Waits for the launches on the GPU's stream, or on another one. RuntimeError where one failed;
  /// CompileError where one found that a requirement of the kernel does not hold.
  void wait();
  void wait(const runtime::nvidia::Stream &stream);
  /// The compilation of the variant launched last.
  CompileReport report() const;
  /// Blocks of the variant launched last that run at a time: its cores.
  int cores() const;

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

private:
  std::shared_ptr<runtime::nvidia::Device> device_;
  std::shared_ptr<runtime::nvidia::Stream> stream_;
  std::string target_;
};

} // namespace ditron
