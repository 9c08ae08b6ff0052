// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The launches of a step of a model, collected once and done again for every token: each task is a
// kernel with its arguments, whose outputs are allocated as its signature says.
#pragma once
#include "ditron/driver/Context.h"
#include <map>
#include <type_traits>
#include <vector>

namespace generate {

using ditron::Tensor;

/// A tensor that a task reads and writes.
struct InOutTensor {
  Tensor tensor;
};
inline InOutTensor inOut(const Tensor &tensor) { return {tensor}; }

class Launches {
public:
  explicit Launches(ditron::Context &ctx) : ctx_(ctx) {}

  /// Adds a task: inputs in the order of the signature, then what it reads and writes. Returns its
  /// first output; the others are those read and written.
  template <class... A> Tensor task(const ditron::Kernel &kernel, const A &...arguments) {
    Given given;
    (give(given, arguments), ...);
    return add(kernel, given);
  }

  /// An output of a task in another shape of as many elements.
  Tensor reshape(const Tensor &output, std::vector<int64_t> shape) const {
    return Tensor::borrow(ctx_.device(), output.data(), output.dtype(), std::move(shape));
  }

  /// Compiles every task for its arguments.
  void prepare() const;
  /// Enqueues all tasks in order.
  void enqueue(const ditron::Stream &stream) const;
  size_t size() const { return calls_.size(); }

private:
  struct Call {
    ditron::Program program;
    std::vector<ditron::KernelArgument> arguments;
  };
  struct Given {
    std::vector<ditron::KernelArgument> inputs;
    std::vector<Tensor> inOuts;
  };
  template <class A> static void give(Given &given, const A &argument) {
    if constexpr (std::is_same_v<A, InOutTensor>)
      given.inOuts.push_back(argument.tensor);
    else
      given.inputs.push_back(ditron::Program::toArgument(argument));
  }
  Tensor add(const ditron::Kernel &kernel, const Given &given);
  ditron::Program programOf(const ditron::Kernel &kernel);

  ditron::Context &ctx_;
  std::vector<Call> calls_;
  std::map<const void *, ditron::Program> programs_; ///< by what was traced, which they keep alive
};

} // namespace generate
