// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/Registry.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
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

double KernelEntry::bytesOf(const Problem &problem, const Config &config) const {
  if (bytesOfVariant)
    return bytesOfVariant(problem, config);
  return bytes ? bytes(problem) : 0;
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

Kernel KernelEntry::kernel(const Problem &problem, const Config &config) const {
  Kernel made = kernel(problem.type, config);
  return problem.team && isDistributed ? made.along(std::string_view(problem.team->axis)) : made;
}

Config KernelEntry::configure(const Problem &problem, std::string_view text,
                              const std::vector<ConfigParameter> &beside) const {
  std::vector<ConfigParameter> all = parameters;
  all.insert(all.end(), beside.begin(), beside.end());
  Config config = defaults(problem);
  for (const ConfigParameter &parameter : beside)
    config.add({parameter.name, 0});
  config.parse(text, all);
  if (retile) {
    retile(problem, config);
    config.parse(text, all); // what is given stays
  }
  config.settle(text, all);
  return config;
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

/// How many elements a dimension has, where it may be more than an integer holds.
static double extent(const Dimension &dimension, const Dimensions &dims) {
  auto value = [&](const std::string &factor) {
    auto found = dims.find(factor);
    return found != dims.end() ? double(found->second) : std::strtod(factor.c_str(), nullptr);
  };
  double result = 1;
  for (const std::string &factor : dimension.factors)
    result *= value(factor);
  for (const std::string &divisor : dimension.divisors)
    result /= value(divisor);
  if (dimension.isRoundedUp)
    result = std::ceil(result);
  return result + double(dimension.more);
}

double operandBytes(const Kernel &kernel, const Problem &problem) {
  Dimensions dims = problem.allDims();
  double total = 0;
  const std::vector<Argument> &arguments = kernel.signature().arguments();
  for (size_t n = 0; n < arguments.size(); ++n) {
    if (arguments[n].isScalar)
      continue;
    double bytes = double(byteSize(kernel.parameters()[n].dtype));
    for (const Dimension &dimension : arguments[n].dims)
      bytes *= extent(dimension, dims);
    total += bytes;
  }
  return total;
}

bool hasTransposedB(const Kernel &kernel) {
  const std::vector<Argument> &arguments = kernel.signature().arguments();
  if (arguments.size() < 3 || arguments[1].dims.empty())
    return false;
  return arguments[1].dims.back().factors == std::vector<std::string>{"K"};
}

} // namespace ditron::kernels
