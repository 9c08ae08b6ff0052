// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/device/Specialize.h"
#include <algorithm>
#include <bit>

namespace ditron::runtime {

std::vector<bool> unitStrides(const std::vector<KernelArgument> &arguments) {
  std::vector<bool> result;
  for (const KernelArgument &argument : arguments) {
    const auto *tensor = std::get_if<Tensor>(&argument);
    result.push_back(tensor && (tensor->strides().empty() || tensor->strides().back() == 1 ||
                                tensor->shape().back() == 1));
  }
  return result;
}

/// What CompileRequest::alignment promises. Where all tensors are vectors, the last tile alone
/// is ragged: it is better to ask at each than to take the others in small accesses for it.
static int64_t alignment(const KernelArgument &argument, bool areVectors) {
  constexpr uint64_t kMost = 16;
  const auto *tensor = std::get_if<Tensor>(&argument);
  auto isNarrow = [](int64_t extent) { return extent <= INT32_MAX; };
  if (!tensor || tensor->shape().empty() || tensor->strides().back() != 1 ||
      !std::all_of(tensor->shape().begin(), tensor->shape().end(), isNarrow))
    return 0;
  uint64_t element = byteSize(tensor->dtype());
  uint64_t bits = reinterpret_cast<uint64_t>(tensor->data()) | kMost;
  if (bits % element)
    return 0;
  for (size_t dim = 0; dim + 1 < tensor->shape().size(); ++dim)
    bits |= static_cast<uint64_t>(tensor->strides()[dim]) * element;
  uint64_t halves = 2 * bits | static_cast<uint64_t>(tensor->shape().back()) * element;
  uint64_t result = std::max((halves & -halves) / 2, element);
  return areVectors && result < kMost && bits % kMost == 0 ? 0 : static_cast<int64_t>(result);
}

CompileRequest specialized(CompileRequest request, const std::vector<KernelArgument> &arguments) {
  request.unitStride = unitStrides(arguments);
  request.alignment.clear();
  bool areVectors = std::none_of(arguments.begin(), arguments.end(), [](const auto &argument) {
    const auto *tensor = std::get_if<Tensor>(&argument);
    return tensor && tensor->shape().size() > 1;
  });
  for (const KernelArgument &argument : arguments)
    request.alignment.push_back(alignment(argument, areVectors));
  return request;
}

void identify(const std::vector<KernelArgument> &arguments, std::vector<int64_t> &words) {
  words.clear();
  for (const KernelArgument &argument : arguments) {
    words.push_back(static_cast<int64_t>(argument.index()));
    if (const auto *tensor = std::get_if<Tensor>(&argument)) {
      words.push_back(static_cast<int64_t>(tensor->dtype()));
      words.push_back(std::bit_cast<int64_t>(tensor->data()));
      words.push_back(std::bit_cast<int64_t>(tensor->device()));
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

} // namespace ditron::runtime
