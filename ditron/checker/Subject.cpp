// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/Subject.h"
#include "ditron/core/Memories.h"
#include "ditron/core/TileOps.h"
#include "ditron/lang/Trace.h"
#include "ditron/reference/ViewedMemory.h"
#include "ditron/runtime/Memory.h"
#include "ditron/support/Error.h"
#include "ditron/support/Sizes.h"
#include "ditron/task/KernelFunction.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>

using namespace mlir;

namespace ditron::checker {

using reference::ArgumentMemory;
using reference::ArgumentValue;

//===-- Subject -------------------------------------------------------------------------------===//

void requireSense(const CheckOptions &options) {
  auto require = [](const char *what, int64_t found, int64_t least, int64_t most) {
    if (found < least || found > most)
      throw CompileError(
          fmt::format("check: {} is {}, expected {} to {}", what, found, least, most));
  };
  require("ranks", options.ranks, 1, 1024);
  require("cores", options.cores, 1, 1024);
  constexpr int64_t kMostCores = 2048; // every two of them are related to one another
  if (options.ranks * options.cores > kMostCores)
    throw CompileError(fmt::format("check: {} ranks of {} cores are {} cores, expected at most {}",
                                   options.ranks, options.cores, options.ranks * options.cores,
                                   kMostCores));
  require("nodes", options.nodes, 1, options.ranks);
  if (options.ranks % options.nodes)
    throw CompileError(
        fmt::format("check: {} ranks do not divide into {} nodes", options.ranks, options.nodes));
  if (!options.mesh.empty() && options.mesh.ranks() != options.ranks)
    throw CompileError(fmt::format("check: the mesh is {}, but there are {} ranks",
                                   options.mesh.text(), options.ranks));
  require("launches", options.launches, 1, 1000);
  require("schedules", options.schedules.value_or(0), 0, 1'000'000);
  require("residentCores", options.residentCores, 0, 1024);
}

namespace {

double scalarOf(const CheckOptions &options, const std::string &name) {
  for (const auto &[known, value] : options.scalars)
    if (known == name)
      return value;
  return 1;
}

/// CompileError for a dimension or scalar that the kernel does not have.
void checkNames(const Signature &signature, const CheckOptions &options) {
  std::vector<std::string> dims = signature.dimensionNames(), scalars;
  for (const auto &[name, extent] : options.shape) {
    if (std::find(dims.begin(), dims.end(), name) == dims.end())
      throw CompileError(fmt::format("{}: shape gives '{}', expected {}", signature.text(), name,
                                     fmt::join(dims, ", ")));
    if (extent < 0)
      throw CompileError(
          fmt::format("{}: {} is {}, expected 0 or more", signature.text(), name, extent));
  }
  for (const Argument &argument : signature.arguments())
    if (argument.isScalar)
      scalars.push_back(argument.name);
  for (const auto &[name, value] : options.scalars)
    if (std::find(scalars.begin(), scalars.end(), name) == scalars.end())
      throw CompileError(fmt::format("{}: a value is given for scalar '{}', but the scalars are "
                                     "[{}]",
                                     signature.text(), name, fmt::join(scalars, ", ")));
}

/// The extents of memory: those of the type, and where it leaves them open those of the options.
std::vector<int64_t> extentsOf(MemRefType type, const std::string &argument,
                               const CheckOptions &options) {
  std::vector<int64_t> extents = type.getShape().vec();
  auto given = options.extents.find(argument);
  if (given == options.extents.end()) {
    if (!type.hasStaticShape())
      throw CompileError(fmt::format(
          "the type of argument '{}' leaves its extents open, expected "
          "them as {}={}",
          argument, argument, fmt::join(std::vector<std::string>(extents.size(), "N"), "x")));
    return extents;
  }
  bool fits = given->second.size() == extents.size();
  for (size_t d = 0; fits && d < extents.size(); ++d)
    fits = given->second[d] >= 0 &&
           (ShapedType::isDynamic(extents[d]) || extents[d] == given->second[d]);
  if (!fits) {
    std::string expected;
    for (int64_t extent : extents)
      expected += fmt::format("{}{}", expected.empty() ? "" : "x",
                              ShapedType::isDynamic(extent) ? "?" : std::to_string(extent));
    throw CompileError(fmt::format("argument '{}' is given extents {}, expected {}", argument,
                                   fmt::join(given->second, "x"), expected));
  }
  return given->second;
}

/// The value of an argument that is no memory, which `extents` may give too.
void setScalar(ArgumentPlan &plan, const CheckOptions &options) {
  plan.scalar = scalarOf(options, plan.name);
  auto given = options.extents.find(plan.name);
  if (given == options.extents.end()) {
    plan.isAssumed = std::none_of(options.scalars.begin(), options.scalars.end(),
                                  [&](const auto &one) { return one.first == plan.name; });
    return;
  }
  if (given->second.size() != 1)
    throw CompileError(
        fmt::format("argument '{}' is given extents {}, but it is a scalar: expected "
                    "one number",
                    plan.name, fmt::join(given->second, "x")));
  plan.scalar = static_cast<double>(given->second.front());
}

ArgumentPlan planOf(func::FuncOp kernel, unsigned n, const CheckOptions &options) {
  ArgumentPlan plan;
  auto given = kernel.getArgAttrOfType<StringAttr>(n, core::kNameAttr);
  plan.name = given ? given.str() : fmt::format("argument {}", n);
  Type type = kernel.getArgumentTypes()[n];
  plan.type = reference::elementType(isa<MemRefType>(type) ? cast<MemRefType>(type).getElementType()
                                                           : type);
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref) {
    setScalar(plan, options);
    return plan;
  }
  plan.isMemory = true;
  plan.isReadOnly = bool(kernel.getArgAttr(n, core::kReadOnlyAttr));
  plan.sizes = extentsOf(memref, plan.name, options);
  return plan;
}

/// The pairs of an output and an input, alike, of which `isOne` holds.
std::vector<std::pair<size_t, size_t>>
pairsInPlace(const std::vector<ArgumentPlan> &plans,
             const std::function<bool(size_t output, size_t input)> &isOne) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t output = 0; output < plans.size(); ++output)
    for (size_t input = 0; input < plans.size(); ++input) {
      const ArgumentPlan &written = plans[output], &read = plans[input];
      bool areAlike = written.isMemory && !written.isReadOnly && read.isReadOnly &&
                      written.type == read.type && written.sizes == read.sizes;
      if (areAlike && isOne(output, input))
        pairs.emplace_back(output, input);
    }
  return pairs;
}

} // namespace

Subject Subject::of(const Kernel &kernel, const CheckOptions &options) {
  requireSense(options);
  const Signature &signature = kernel.signature();
  checkNames(signature, options);
  Dimensions dims = options.shape;
  dims["R"] = options.ranks;
  dims["R_node"] = options.nodes;
  dims["R_local"] = options.ranks / options.nodes;
  for (const MeshAxes::Axis &axis : options.mesh.axes())
    dims["R_" + axis.name] = axis.extent;
  Subject subject{kernel.name(), task::findKernel(kernel.traced().meaning(), ""), {}};
  for (size_t n = 0; n < signature.arguments().size(); ++n) {
    const Argument &argument = signature.arguments()[n];
    const detail::Parameter &parameter = kernel.parameters()[n];
    ArgumentPlan plan;
    plan.name = argument.name;
    plan.isMemory = parameter.kind == detail::Parameter::Kind::view;
    plan.isOutput = parameter.access == Access::write;
    plan.isReadOnly = parameter.access == Access::read;
    plan.type = parameter.dtype;
    if (plan.isMemory)
      plan.sizes = signature.shape(argument, dims);
    else
      plan.scalar = scalarOf(options, argument.name);
    subject.arguments.push_back(std::move(plan));
  }
  subject.inPlace = pairsInPlace(subject.arguments, [&](size_t output, size_t input) {
    return kernel.isInPlace(output, input);
  });
  return subject;
}

Subject Subject::of(ModuleOp module, const std::string &name, const CheckOptions &options) {
  requireSense(options);
  func::FuncOp kernel = task::findKernel(module, name);
  Subject subject{kernel.getName().str(), kernel, {}};
  for (unsigned n = 0; n < kernel.getNumArguments(); ++n)
    subject.arguments.push_back(planOf(kernel, n, options));
  for (const auto &[argument, extents] : options.extents)
    if (std::none_of(subject.arguments.begin(), subject.arguments.end(),
                     [&](const ArgumentPlan &plan) { return plan.name == argument; }))
      throw CompileError(fmt::format("kernel '{}' has no argument '{}'", subject.name, argument));
  subject.inPlace = pairsInPlace(subject.arguments, [&](size_t output, size_t input) {
    int64_t number = core::inPlaceNumber(kernel.getArgument(output));
    return number >= 0 && number == core::inPlaceNumber(kernel.getArgument(input));
  });
  return subject;
}

Subject Subject::with(ModuleOp copy) const {
  func::FuncOp original = function;
  return {name, copy.lookupSymbol<func::FuncOp>(original.getName()), arguments, inPlace};
}

Subject Subject::withInPlace(size_t output, size_t input) const {
  Subject other = *this;
  other.arguments[output].inPlaceOf = input;
  return other;
}

//===-- ArgumentSet ---------------------------------------------------------------------------===//

namespace {

/// A small integer, another one for every element of every rank.
double standardInput(int64_t rank, size_t argument, int64_t element) {
  uint64_t hash = static_cast<uint64_t>(element) * 0x9E3779B97F4A7C15u +
                  static_cast<uint64_t>(rank) * 0xC2B2AE3D27D4EB4Fu + (argument + 1);
  hash ^= hash >> 29;
  hash *= 0xBF58476D1CE4E5B9u;
  hash ^= hash >> 32;
  return static_cast<double>(hash % 17) - 8;
}

/// NaN in every float type; in integers a value that sums of small numbers do not reach.
std::byte poisonOf(DType type) {
  return type == DType::i1 ? std::byte(1) : isFloat(type) ? std::byte(0xFF) : std::byte(0xA5);
}

} // namespace

namespace {

/// An error where the arguments are more than a check looks at.
void requireElements(const Subject &subject, const CheckOptions &options) {
  size_t elements = 0;
  for (const ArgumentPlan &plan : subject.arguments) {
    size_t size = plan.isMemory;
    for (int64_t extent : plan.sizes)
      size = saturatingProduct(size, static_cast<size_t>(extent));
    elements = llvm::SaturatingAdd(elements, size);
  }
  elements = saturatingProduct(elements, static_cast<size_t>(options.ranks));
  if (elements > static_cast<size_t>(options.elements))
    throw CompileError(fmt::format("the arguments of kernel '{}' on {} ranks have {} elements, "
                                   "expected at most {}: check smaller sizes or fewer ranks",
                                   subject.name, options.ranks, elements, options.elements));
}

/// An error where the arguments do not fit in memory.
void requireMemory(const Subject &subject, int64_t ranks) {
  size_t bytes = 0;
  for (const ArgumentPlan &plan : subject.arguments) {
    auto size = static_cast<size_t>(byteSize(plan.type));
    for (int64_t extent : plan.sizes)
      size = saturatingProduct(size, static_cast<size_t>(extent));
    bytes = llvm::SaturatingAdd(bytes, plan.isMemory ? size : 0);
  }
  runtime::requireMemory(saturatingProduct(bytes, static_cast<size_t>(ranks)),
                         fmt::format("kernel '{}' on {} ranks", subject.name, ranks));
}

} // namespace

ArgumentSet::ArgumentSet(const Subject &subject, const CheckOptions &options) : subject_(subject) {
  requireMemory(subject, options.ranks);
  requireElements(subject, options);
  auto input = options.input ? options.input : standardInput;
  for (int64_t rank = 0; rank < options.ranks; ++rank) {
    auto &memory = memory_.emplace_back();
    auto &values = values_.emplace_back();
    for (size_t n = 0; n < subject.arguments.size(); ++n) {
      const ArgumentPlan &plan = subject.arguments[n];
      memory.emplace_back();
      if (plan.inPlaceOf) {
        values.emplace_back(); // of an input, which may come later
        continue;
      }
      if (!plan.isMemory) {
        values.push_back(isFloat(plan.type) ? ArgumentValue(plan.scalar)
                                            : ArgumentValue(static_cast<int64_t>(plan.scalar)));
        continue;
      }
      int64_t elements = reference::numElements(plan.sizes), bytes = byteSize(plan.type);
      memory.back().assign(elements * bytes, poisonOf(plan.type));
      if (!plan.isOutput)
        for (int64_t i = 0; i < elements; ++i)
          storeElement(plan.type, memory.back().data() + i * bytes, input(rank, n, i));
      reference::Extents strides = reference::denseStrides(plan.sizes);
      values.push_back(ArgumentMemory{
          memory.back().data(), plan.type, plan.sizes, {strides.begin(), strides.end()}});
    }
    for (size_t n = 0; n < values.size(); ++n)
      if (auto input = subject.arguments[n].inPlaceOf)
        values[n] = values[*input];
  }
}

std::vector<std::byte> ArgumentSet::outputs() const {
  std::vector<std::byte> all;
  for (const auto &rank : memory_)
    for (size_t n = 0; n < rank.size(); ++n)
      if (subject_.arguments[n].isMemory && !subject_.arguments[n].isReadOnly)
        all.insert(all.end(), rank[n].begin(), rank[n].end());
  return all;
}

} // namespace ditron::checker
