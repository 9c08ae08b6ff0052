// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel is timed beside on a GPU.
#pragma once
#include "ditron/driver/Context.h"
#include "tools/baselines/Work.h"
#include <memory>

namespace ditron::baselines {

class GpuBaseline {
public:
  virtual ~GpuBaseline() = default;
  /// What it is, for the report: "cublasGemmEx", "device copy".
  virtual std::string name() const = 0;
  /// Its version, for a line of bench/baselines; may be empty.
  virtual std::string version() const { return ""; }
  /// Enqueues it on the context's stream, on the operands of that number.
  virtual void launch(size_t set) const = 0;
  /// Whether it computes what the kernel does, into its outputs.
  virtual bool isSameWork() const { return false; }
  /// Whether it may add in the type of the result, which rounds every sum.
  virtual bool roundsSums() const { return false; }
};

/// The arguments of a launch on the device.
using OperandSet = std::vector<KernelArgument>;

/// The kernel's baseline on a GPU, for sets of equal operands:
///   a copy      within the GPU's memory that reads and writes as many bytes as the kernel
///   a product   of cuBLAS; where it is grouped, the dense one of as many rows; a copy of as many
///               bytes as the operands have where cuBLAS is missing, or has no such product
/// Null where the kernel has none. `missing` says what the machine lacks for the better one.
std::unique_ptr<GpuBaseline> makeGpuBaseline(const Context &context, const Work &work,
                                             const std::vector<OperandSet> &sets,
                                             std::string &missing);

} // namespace ditron::baselines
