// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inputs of a graph as a signature has arguments: "mlp(x[B,K], y[B])".
#pragma once
#include "ditron/lang/Signature.h"
#include <source_location>
#include <string_view>
#include <vector>

namespace ditron::task {

/// A signature without outputs. Errors are those of Signature.
class InputSignature {
public:
  InputSignature(std::string_view graph, std::string_view inputs,
                 std::source_location where = std::source_location::current());

  std::vector<Argument> inputs() const;
  /// Of as many shapes as there are inputs.
  void bind(const std::vector<const std::vector<int64_t> *> &given, int64_t ranks) const;
  std::vector<int64_t> shape(const Argument &argument, const Dimensions &dims) const;
  std::vector<std::string> dimensionNames() const { return signature_.dimensionNames(); }

private:
  Signature signature_;
};

} // namespace ditron::task
