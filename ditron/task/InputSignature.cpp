// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/InputSignature.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <string>

namespace ditron::task {

/// What a kernel's signature needs behind its inputs.
static constexpr std::string_view kOutput = " -> _[1]";

/// Errors do not speak of the output, which nobody has written.
template <class Fn> static auto withoutOutput(const Fn &fn) {
  try {
    return fn();
  } catch (const CompileError &error) {
    std::string text = error.what();
    if (size_t at = text.find(kOutput); at != std::string::npos)
      text.erase(at, kOutput.size());
    throw CompileError(text);
  }
}

InputSignature::InputSignature(std::string_view graph, std::string_view inputs,
                               std::source_location where)
    : signature_(withoutOutput(
          [&] { return Signature(fmt::format("{}({}){}", graph, inputs, kOutput), where); })) {}

std::vector<Argument> InputSignature::inputs() const {
  return {signature_.arguments().begin(), signature_.arguments().end() - 1};
}

void InputSignature::bind(const std::vector<const std::vector<int64_t> *> &given,
                          int64_t ranks) const {
  withoutOutput([&] { return signature_.bind(given, ranks); });
}

std::vector<int64_t> InputSignature::shape(const Argument &argument, const Dimensions &dims) const {
  return withoutOutput([&] { return signature_.shape(argument, dims); });
}

} // namespace ditron::task
