// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DeviceOperands.h"
#include <fmt/format.h>

namespace ditron::tools {

using namespace runtime::nvidia;

DeviceOperands::DeviceOperands(const Gpu &gpu, const Operands &host) : host_(host) {
  for (const Operands::Value &value : host.values()) {
    const auto *tensor = std::get_if<runtime::Tensor>(&value);
    memory_.emplace_back(gpu.device(), tensor ? tensor->bytes() : 0);
    if (tensor)
      values_.push_back(
          runtime::Tensor::borrow(memory_.back().pointer(), tensor->dtype(), tensor->shape()));
    else if (const auto *integer = std::get_if<int64_t>(&value))
      values_.push_back(*integer);
    else
      values_.push_back(std::get<double>(value));
  }
}

void naming(const Task &task, const std::function<void()> &work) {
  try {
    work();
  } catch (const RuntimeError &error) {
    throw RuntimeError(fmt::format("{}: {}", task.entry.name, error.what()));
  }
}

void DeviceOperands::upload() const {
  for (size_t n = 0; n < memory_.size(); ++n)
    if (const auto *tensor = std::get_if<runtime::Tensor>(&host_.values()[n]))
      memory_[n].upload(tensor->data());
}

void DeviceOperands::download() const {
  for (size_t n : host_.outputs())
    memory_[n].download(host_.tensor(n).data());
}

void DeviceOperands::copyFrom(const DeviceOperands &other, const Stream &stream) const {
  for (size_t n = 0; n < memory_.size(); ++n)
    if (memory_[n].bytes())
      stream.copy(memory_[n], other.memory_[n], memory_[n].bytes());
}

std::vector<KernelArgument> DeviceOperands::arguments() const {
  std::vector<KernelArgument> result;
  for (size_t n = 0; n < values_.size(); ++n)
    if (const auto *number = std::get_if<double>(&host_.values()[n]))
      result.emplace_back(*number);
    else if (const auto *integer = std::get_if<int64_t>(&host_.values()[n]))
      result.emplace_back(*integer);
    else
      result.push_back(values_[n]);
  return result;
}

std::vector<uint64_t> DeviceOperands::addresses() const {
  std::vector<uint64_t> result;
  for (const Memory &memory : memory_)
    result.push_back(memory.address());
  return result;
}

Findings verifyOnce(const Task &task, const kernels::Inputs &inputs, Operands &host,
                    const DeviceOperands &operands, const std::function<void()> &execute) {
  operands.upload();
  execute();
  operands.download();
  Findings findings = verify(task, inputs, 0, host);
  host.refill(inputs, 0);
  return findings;
}

} // namespace ditron::tools
