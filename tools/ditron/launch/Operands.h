// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of one rank: inputs by the seed, outputs poisoned so that an element that is never
// written is found. Of a kernel of a file nobody says which outputs it only writes: they hold inputs.
#pragma once
#include "ditron/runtime/TensorMemory.h"
#include "tools/ditron/LaunchArguments.h"
#include <variant>

namespace ditron::tools {

class Operands {
public:
  /// Allocates. RuntimeError where there is not the memory.
  explicit Operands(const Task &task);

  /// Writes the inputs of `rank`, and poison into the outputs.
  void fill(const kernels::Inputs &inputs, int64_t rank);

  /// The same of the arguments that a launch changes.
  void refill(const kernels::Inputs &inputs, int64_t rank);

  /// Writes poison into the outputs alone.
  void poison();

  using Value = std::variant<runtime::Tensor, int64_t, double>;
  /// In the order of the signature.
  const std::vector<Value> &values() const { return values_; }
  const runtime::Tensor &tensor(size_t argument) const {
    return std::get<runtime::Tensor>(values_[argument]);
  }
  /// The arguments that the kernel writes, by number.
  const std::vector<size_t> &outputs() const { return outputs_; }

private:
  bool isPoisoned(size_t argument) const;

  const std::vector<detail::Parameter> &parameters_;
  bool isOfFile_;
  std::vector<Value> values_;
  std::vector<size_t> outputs_;
};

/// The byte that outputs are filled with: NaN in every float type; in integers a value that sums of
/// small numbers do not reach.
std::byte poisonByte(DType type);

} // namespace ditron::tools
