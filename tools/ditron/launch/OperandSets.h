// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Equal sets of the operands of one rank, which launches take in turn, so that no cache holds what the next one
// reads. Collectives have one set: what they read has just been written, where they are used.
#pragma once
#include "tools/ditron/launch/DeviceOperands.h"
#include <memory>

namespace ditron::tools {

class OperandSets {
public:
  /// As many sets as every rank has memory for, where `sharers` ranks share a device. Collective.
  OperandSets(const Context &context, const Task &task, const Operands &host, int sharers);

  /// All that the host holds, its numbers too.
  void fill(const Context &context);
  const DeviceOperands &first() const { return *sets_.front(); }
  /// Of each set, as it was filled.
  const std::vector<std::vector<KernelArgument>> &arguments() const { return arguments_; }

private:
  std::vector<std::unique_ptr<DeviceOperands>> sets_;
  std::vector<std::vector<KernelArgument>> arguments_;
};

} // namespace ditron::tools
