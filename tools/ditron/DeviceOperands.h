// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operands of a task in the memory of a GPU, and launches on them.
#pragma once
#include "Execute.h"
#include "Operands.h"
#include "ditron/driver/Gpu.h"

namespace ditron::tools {

class DeviceOperands {
public:
  DeviceOperands(const Gpu &gpu, const Operands &host);

  /// All that the host holds, the poison of outputs included.
  void upload() const;
  /// The outputs.
  void download() const;
  /// The inputs and outputs of another one of the same task, when the stream comes to it.
  void copyFrom(const DeviceOperands &other, const runtime::nvidia::Stream &stream) const;
  /// In the order of the signature, for a launch.
  std::vector<KernelArgument> arguments() const;
  /// Where the arguments that are tensors lie, by number.
  std::vector<uint64_t> addresses() const;
  const Operands &host() const { return host_; }

private:
  const Operands &host_;
  std::vector<runtime::nvidia::Memory> memory_;
  std::vector<KernelArgument> values_;
};

/// Does `work` on a task; what the device or its driver says of it gets the kernel's name.
void naming(const Task &task, const std::function<void()> &work);

/// What is launched on a stream, timed by events around it.
class Timed {
public:
  explicit Timed(const Gpu &gpu) : gpu_(gpu), begin_(gpu.device()), end_(gpu.device()) {}
  double operator()(const std::function<void()> &work) const {
    begin_.record(gpu_.stream());
    work();
    end_.record(gpu_.stream());
    return end_.secondsSince(begin_);
  }

private:
  const Gpu &gpu_;
  runtime::nvidia::Event begin_, end_;
};

/// Verifies what `execute` writes, which launches and waits, over poison. The operands of the host
/// are as before afterwards.
Findings verifyOnce(const Task &task, const kernels::Inputs &inputs, Operands &host,
                    const DeviceOperands &operands, const std::function<void()> &execute);

} // namespace ditron::tools
