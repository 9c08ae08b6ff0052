// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operands of a task in the memory of a context's device: those of the host themselves where the
// host may touch it.
#pragma once
#include "ditron/driver/Context.h"
#include "tools/ditron/launch/Operands.h"
#include "tools/ditron/report/Verify.h"
#include <functional>

namespace ditron::tools {

class DeviceOperands {
public:
  DeviceOperands(const Context &context, const Operands &host);

  /// All that the host holds, the poison of outputs included.
  void upload() const;
  /// The outputs, behind the launches of the context's stream. Throws the error of one that failed.
  void download() const;
  /// The inputs and outputs of another one of the same task, when the stream comes to it.
  void copyFrom(const DeviceOperands &other, const Stream &stream) const;
  /// In the order of the signature, for a launch.
  std::vector<KernelArgument> arguments() const;
  const Tensor &tensor(size_t argument) const { return tensors_[argument]; }
  const Operands &host() const { return host_; }

private:
  const Operands &host_;
  std::vector<Tensor> tensors_; ///< by argument; empty ones for numbers
};

/// How many equal sets of operands are made for launches to take in turn, so that no cache holds what the next
/// one reads; fewer where `sharers` ranks on the context's device have no memory for so many.
size_t setsOf(const Task &task, const Context &context, int sharers = 1);

/// Does `work` on a task. What a GPU or its driver says of it gets the kernel's name.
void naming(const Context &context, const Task &task, const std::function<void()> &work);

/// Verifies what `execute` writes, which launches, over poison. The operands of the host are as
/// before afterwards.
Findings verifyOnce(const Task &task, const kernels::Inputs &inputs, int rank, Operands &host,
                    const DeviceOperands &operands, const std::function<void()> &execute);

} // namespace ditron::tools
