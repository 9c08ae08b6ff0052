// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/Registry.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron::kernels {

#define KERNEL(name) KernelEntry name##Entry();
#include "ditron/kernels/Kernels.def"

const std::vector<KernelEntry> &registry() {
  static const std::vector<KernelEntry> entries = {
#define KERNEL(name) name##Entry(),
#include "ditron/kernels/Kernels.def"
  };
  return entries;
}

const KernelEntry &findKernel(std::string_view name) {
  std::vector<std::string> known;
  for (const KernelEntry &entry : registry()) {
    if (entry.name == name)
      return entry;
    known.push_back(entry.name);
  }
  throw UsageError(fmt::format("unknown kernel '{}', expected one of {}{}", name,
                               fmt::join(known, ", "), suggestion(name, known)));
}

bool KernelEntry::supports(DType type) const {
  return std::find(dtypes.begin(), dtypes.end(), type) != dtypes.end();
}

Kernel KernelEntry::kernel(DType type, const Config &config) const {
  if (supports(type))
    return make(type, config);
  std::vector<std::string_view> known;
  for (DType supported : dtypes)
    known.push_back(ditron::name(supported));
  throw UsageError(fmt::format("{} has no variant for {}, expected one of {}", name,
                               ditron::name(type), fmt::join(known, ", ")));
}

std::vector<ScalarDefault> KernelEntry::scalarsOf(const Kernel &kernel) const {
  std::vector<ScalarDefault> result;
  const std::vector<Argument> &arguments = kernel.signature().arguments();
  for (const ScalarDefault &scalar : scalars)
    if (std::any_of(arguments.begin(), arguments.end(),
                    [&](const Argument &argument) { return argument.name == scalar.name; }))
      result.push_back(scalar);
  return result;
}

Dimensions KernelEntry::parseShape(std::string_view text) const {
  Dimensions result = shape;
  for (const auto &[dimension, value] : parseAssignments(text, "shape")) {
    auto found = result.find(dimension);
    if (found == result.end()) {
      std::vector<std::string> known;
      for (const auto &[one, extent] : shape)
        known.push_back(one);
      throw UsageError(fmt::format("shape: {} has no dimension '{}', expected {}", name, dimension,
                                   fmt::join(known, ", ")));
    }
    found->second = parseInteger(dimension, value, 1);
  }
  return result;
}

} // namespace ditron::kernels
