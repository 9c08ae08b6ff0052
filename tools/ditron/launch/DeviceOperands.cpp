// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/launch/DeviceOperands.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ditron::tools {

DeviceOperands::DeviceOperands(const Context &context, const Operands &host) : host_(host) {
  bool isShared = context.device()->isHostAccessible();
  for (const Operands::Value &value : host.values()) {
    const auto *tensor = std::get_if<Tensor>(&value);
    tensors_.push_back(!tensor    ? Tensor()
                       : isShared ? *tensor
                                  : context.tensor(tensor->dtype(), tensor->shape()));
  }
}

size_t setsOf(const Task &task, const Context &context, int sharers) {
  constexpr double kRotatedBytes = 512e6; // of all sets: more than any cache holds
  constexpr double kMost = 64, kFewest = 2;
  double bytes = std::max(1.0, operandBytes(task));
  double wanted = std::clamp(std::ceil(kRotatedBytes / bytes), kFewest, kMost);
  double each = double(context.availableBytes()) / sharers;
  double room = each / (3 * bytes); // a baseline may need as much
  return size_t(std::max(1.0, std::min(wanted, room)));
}

void naming(const Context &context, const Task &task, const std::function<void()> &work) {
  try {
    work();
  } catch (const RuntimeError &error) {
    if (context.device()->isHostAccessible())
      throw;
    throw RuntimeError(fmt::format("{}: {}", task.entry.name, error.what()));
  }
}

void DeviceOperands::upload() const {
  for (size_t n = 0; n < tensors_.size(); ++n)
    if (const auto *tensor = std::get_if<Tensor>(&host_.values()[n]);
        tensor && tensors_[n].device())
      tensors_[n].copyFrom(*tensor);
}

void DeviceOperands::download() const {
  for (size_t n : host_.outputs())
    if (tensors_[n].device())
      host_.tensor(n).copyFrom(tensors_[n]);
}

void DeviceOperands::copyFrom(const DeviceOperands &other, const Stream &stream) const {
  for (size_t n = 0; n < tensors_.size(); ++n)
    if (tensors_[n].device())
      stream.copy(tensors_[n], other.tensors_[n]);
}

std::vector<KernelArgument> DeviceOperands::arguments() const {
  std::vector<KernelArgument> result;
  for (size_t n = 0; n < tensors_.size(); ++n)
    if (const auto *number = std::get_if<double>(&host_.values()[n]))
      result.emplace_back(*number);
    else if (const auto *integer = std::get_if<int64_t>(&host_.values()[n]))
      result.emplace_back(*integer);
    else
      result.emplace_back(tensors_[n]);
  return result;
}

Findings verifyOnce(const Task &task, const kernels::Inputs &inputs, int rank, Operands &host,
                    const DeviceOperands &operands, const std::function<void()> &execute) {
  host.refill(inputs, rank);
  operands.upload();
  execute();
  operands.download();
  Findings findings = verify(task, inputs, rank, host);
  host.refill(inputs, rank);
  return findings;
}

} // namespace ditron::tools
