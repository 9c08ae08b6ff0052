// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/launch/OperandSets.h"
#include "ditron/runtime/Gather.h"

namespace ditron::tools {

static size_t commonSets(const Context &context, const Task &task, int sharers) {
  if (task.entry.collective != kernels::Collective::none)
    return 1;
  double missing = -double(setsOf(task, context, sharers));
  return size_t(-runtime::slowest(context.runtimeRank(), {missing})[0]);
}

OperandSets::OperandSets(const Context &context, const Task &task, const Operands &host,
                         int sharers) {
  for (size_t n = commonSets(context, task, sharers); n > 0; --n)
    sets_.push_back(std::make_unique<DeviceOperands>(context, host));
}

void OperandSets::fill(const Context &context) {
  first().upload();
  for (size_t n = 1; n < sets_.size(); ++n)
    sets_[n]->copyFrom(first(), context.stream());
  context.sync();
  arguments_.clear();
  for (const auto &set : sets_)
    arguments_.push_back(set->arguments());
}

} // namespace ditron::tools
