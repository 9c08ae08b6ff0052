// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/launch/Operands.h"
#include <cstring>

namespace ditron::tools {

using runtime::Tensor;

Operands::Operands(const Task &task)
    : parameters_(task.kernel.parameters()), isOfFile_(task.file != nullptr) {
  Dimensions dims = task.problem.allDims();
  const Signature &signature = task.kernel.signature();
  for (size_t n = 0; n < parameters_.size(); ++n) {
    const detail::Parameter &parameter = parameters_[n];
    if (parameter.kind != detail::Parameter::Kind::view) {
      values_.push_back(isFloat(parameter.dtype) ? Value(0.0) : Value(int64_t(0)));
      continue;
    }
    values_.push_back(
        Tensor::own(parameter.dtype, signature.shape(signature.arguments()[n], dims)));
    if (parameter.access != Access::read)
      outputs_.push_back(n);
  }
}

void Operands::fill(const kernels::Inputs &inputs, int64_t rank) {
  for (size_t n = 0; n < values_.size(); ++n) {
    if (auto *number = std::get_if<double>(&values_[n])) {
      *number = inputs.scalar(n);
    } else if (auto *integer = std::get_if<int64_t>(&values_[n])) {
      *integer = static_cast<int64_t>(inputs.scalar(n));
    } else if (!isPoisoned(n)) {
      inputs.fill(rank, n, tensor(n).data());
    }
  }
  poison();
}

void Operands::refill(const kernels::Inputs &inputs, int64_t rank) {
  for (size_t n : outputs_)
    if (!isPoisoned(n))
      inputs.fill(rank, n, tensor(n).data());
  poison();
}

bool Operands::isPoisoned(size_t argument) const {
  return parameters_[argument].access == Access::write && !isOfFile_;
}

void Operands::poison() {
  for (size_t n : outputs_)
    if (const Tensor &memory = tensor(n); isPoisoned(n))
      std::memset(memory.data(), int(poisonByte(memory.dtype())), memory.bytes());
}

std::byte poisonByte(DType type) {
  if (type == DType::i1)
    return std::byte(1);
  return isFloat(type) ? std::byte(0xff) : std::byte(0xa5);
}

} // namespace ditron::tools
