// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/Arguments.h"
#include "ditron/abi/LaunchWords.h"
#include "ditron/support/Error.h"
#include "ditron/support/Number.h"
#include <bit>
#include <fmt/format.h>

namespace ditron {

using detail::Parameter;

namespace {

[[noreturn]] void refuse(const Signature &signature, const std::string &problem) {
  throw CompileError(fmt::format("{}: {}", signature.text(), problem));
}

const char *kindName(const KernelArgument &argument) {
  constexpr const char *names[] = {"a tensor", "an integer", "a float"};
  return names[argument.index()];
}

Number numberOf(const KernelArgument &scalar) {
  const auto *integer = std::get_if<int64_t>(&scalar);
  return integer ? Number(*integer) : Number(std::get<double>(scalar));
}

/// A scalar in the bits of its type, in a word.
int64_t scalarWord(DType type, const Number &value) {
  int64_t word = 0;
  if (isFloat(type))
    storeElement(type, &word, value.real());
  else
    word = value.integer();
  return word;
}

} // namespace

void checkArguments(const Kernel &kernel, const std::vector<KernelArgument> &arguments,
                    int64_t ranks) {
  const Signature &signature = kernel.signature();
  const std::vector<Parameter> &parameters = kernel.parameters();
  if (arguments.size() != parameters.size())
    refuse(signature, fmt::format("launched with {} arguments, expected {}", arguments.size(),
                                  parameters.size()));
  std::vector<const std::vector<int64_t> *> shapes;
  for (size_t n = 0; n < arguments.size(); ++n) {
    const Parameter &parameter = parameters[n];
    const std::string &name = signature.arguments()[n].name;
    const auto *tensor = std::get_if<Tensor>(&arguments[n]);
    shapes.push_back(tensor ? &tensor->shape() : nullptr);
    bool isView = parameter.kind == Parameter::Kind::view;
    bool isIndex = parameter.kind == Parameter::Kind::index;
    if (isView != (tensor != nullptr) ||
        (isIndex && !std::holds_alternative<int64_t>(arguments[n])))
      refuse(signature, fmt::format("{} is {}, expected {}", name, kindName(arguments[n]),
                                    isView    ? "a tensor"
                                    : isIndex ? "an integer"
                                              : "a number"));
    if (isView && tensor->dtype() != parameter.dtype)
      refuse(signature, fmt::format("{} is of {}, expected {}", name, ditron::name(tensor->dtype()),
                                    ditron::name(parameter.dtype)));
    if (parameter.kind == Parameter::Kind::scalar)
      if (std::string reason = reasonAgainst(parameter.dtype, numberOf(arguments[n]));
          !reason.empty())
        refuse(signature, fmt::format("{}: {}", name, reason));
  }
  signature.bind(shapes, ranks);
}

std::vector<bool> unitStrides(const std::vector<KernelArgument> &arguments) {
  std::vector<bool> result;
  for (const KernelArgument &argument : arguments) {
    const auto *tensor = std::get_if<Tensor>(&argument);
    result.push_back(tensor && (tensor->strides().empty() || tensor->strides().back() == 1 ||
                                tensor->shape().back() == 1));
  }
  return result;
}

void identify(const std::vector<KernelArgument> &arguments, std::vector<int64_t> &words) {
  words.clear();
  for (const KernelArgument &argument : arguments) {
    words.push_back(static_cast<int64_t>(argument.index()));
    if (const auto *tensor = std::get_if<Tensor>(&argument)) {
      words.push_back(static_cast<int64_t>(tensor->dtype()));
      words.push_back(std::bit_cast<int64_t>(tensor->data()));
      words.push_back(tensor->dims());
      words.insert(words.end(), tensor->shape().begin(), tensor->shape().end());
      words.insert(words.end(), tensor->strides().begin(), tensor->strides().end());
    } else if (const auto *integer = std::get_if<int64_t>(&argument)) {
      words.push_back(*integer);
    } else {
      words.push_back(std::bit_cast<int64_t>(std::get<double>(argument)));
    }
  }
}

std::vector<int64_t> toWords(const Kernel &kernel, const std::vector<KernelArgument> &arguments) {
  std::vector<int64_t> words;
  for (size_t n = 0; n < arguments.size(); ++n) {
    if (const auto *tensor = std::get_if<Tensor>(&arguments[n])) {
      abi::addView(words, std::bit_cast<int64_t>(tensor->data()), tensor->shape(),
                   tensor->strides());
    } else if (kernel.parameters()[n].kind == Parameter::Kind::index) {
      words.push_back(std::get<int64_t>(arguments[n]));
    } else {
      words.push_back(scalarWord(kernel.parameters()[n].dtype, numberOf(arguments[n])));
    }
  }
  return words;
}

} // namespace ditron
