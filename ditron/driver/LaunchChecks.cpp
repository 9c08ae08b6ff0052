// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/driver/LaunchChecks.h"
#include "ditron/abi/LaunchWords.h"
#include "ditron/driver/Overlap.h"
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

std::string reasonAgainst(const Tensor &tensor, bool isWritten, const runtime::Device &device) {
  if (tensor.elements() == 0)
    return "";
  bool isReached =
      tensor.device() == &device || (device.isHostAccessible() && tensor.isHostAccessible());
  if (!isReached)
    return fmt::format("is in the memory of {}, expected that of {}: Context::tensor makes tensors "
                       "there, Tensor::copyFrom fills them",
                       tensor.device() ? tensor.device()->name() : "the host", device.name());
  for (size_t d = 0; isWritten && d < tensor.shape().size(); ++d)
    if (tensor.strides()[d] == 0 && tensor.shape()[d] > 1)
      return fmt::format("is written and has stride 0 in dimension {}, where its extent is {}: "
                         "expected a place for each element",
                         d, tensor.shape()[d]);
  return "";
}

static void checkTensors(const Kernel &kernel, const std::vector<KernelArgument> &arguments,
                         const runtime::Device &device) {
  for (size_t n = 0; n < arguments.size(); ++n) {
    const auto *tensor = std::get_if<Tensor>(&arguments[n]);
    bool isWritten = kernel.parameters()[n].access != Access::read;
    std::string reason = tensor ? reasonAgainst(*tensor, isWritten, device) : "";
    if (!reason.empty())
      refuse(kernel.signature(),
             fmt::format("{} {}", kernel.signature().arguments()[n].name, reason));
  }
}

/// Tensors that are written are no other ones.
static void checkOverlap(const Kernel &kernel, const std::vector<KernelArgument> &arguments) {
  auto isWritten = [&](size_t n) { return kernel.parameters()[n].access != Access::read; };
  for (size_t n = 0; n < arguments.size(); ++n)
    for (size_t other = n + 1; other < arguments.size(); ++other) {
      const auto *a = std::get_if<Tensor>(&arguments[n]),
                 *b = std::get_if<Tensor>(&arguments[other]);
      if (!a || !b || (!isWritten(n) && !isWritten(other)) || !overlap(*a, *b))
        continue;
      bool isAllowed = kernel.isInPlace(other, n) || kernel.isInPlace(n, other);
      if (isAllowed && coincide(*a, *b))
        continue;
      const std::string &first = kernel.signature().arguments()[n].name;
      const std::string &second = kernel.signature().arguments()[other].name;
      refuse(kernel.signature(),
             fmt::format("{} and {} overlap in memory, and {} is written: expected {}", first,
                         second, isWritten(other) ? second : first,
                         isAllowed ? "the same elements, as for work in place, or none"
                                   : "tensors apart"));
    }
}

void checkArguments(const Kernel &kernel, const std::vector<KernelArgument> &arguments,
                    const runtime::Device &device, int64_t ranks) {
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
  std::string mesh = device.mesh();
  signature.bind(shapes, ranks, mesh.empty() ? MeshAxes() : *MeshAxes::parse(mesh));
  checkTensors(kernel, arguments, device);
  checkOverlap(kernel, arguments);
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
