// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/check/Subject.h"
#include "ditron/core/TileOps.h"
#include "ditron/lang/Trace.h"
#include "ditron/reference/Memory.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace ditron::checker {

using reference::ArgumentMemory;
using reference::ArgumentValue;

//===-- Subject -------------------------------------------------------------------------------===//

namespace {

/// CompileError for numbers of ranks, cores and the like that make no sense.
void checkOptions(const CheckOptions &options) {
  auto require = [](const char *what, int64_t found, int64_t least, int64_t most) {
    if (found < least || found > most)
      throw CompileError(
          fmt::format("check: {} is {}, expected {} to {}", what, found, least, most));
  };
  require("ranks", options.ranks, 1, 1024);
  require("cores", options.cores, 1, 1024);
  require("nodes", options.nodes, 1, options.ranks);
  require("launches", options.launches, 1, 1000);
  require("schedules", options.schedules, 0, 1'000'000);
  require("residentCores", options.residentCores, 0, 1024);
}

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

func::FuncOp kernelOf(ModuleOp module) {
  func::FuncOp found;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr(core::kKernelAttr))
      continue;
    if (found)
      throw CompileError(fmt::format("kernels '{}' and '{}' are in one module, expected one kernel",
                                     std::string_view(found.getName()),
                                     std::string_view(function.getName())));
    found = function;
  }
  if (!found)
    throw CompileError("the module has no function marked tile.kernel");
  return found;
}

ArgumentPlan planOf(func::FuncOp kernel, unsigned n, const CheckOptions &options) {
  ArgumentPlan plan;
  auto given = kernel.getArgAttrOfType<StringAttr>(n, core::kNameAttr);
  plan.name = given ? given.str() : fmt::format("argument {}", n);
  Type type = kernel.getArgumentTypes()[n];
  plan.type = reference::elementType(isa<MemRefType>(type) ? cast<MemRefType>(type).getElementType()
                                                           : type);
  plan.scalar = scalarOf(options, plan.name);
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return plan;
  if (!memref.hasStaticShape())
    throw CompileError(fmt::format("{} of kernel '{}' has extents that its type does not state, "
                                   "expected a memref of static shape",
                                   plan.name, std::string_view(kernel.getName())));
  plan.isMemory = true;
  plan.isReadOnly = bool(kernel.getArgAttr(n, core::kReadOnlyAttr));
  plan.sizes = memref.getShape().vec();
  return plan;
}

} // namespace

Subject Subject::of(const Kernel &kernel, const CheckOptions &options) {
  checkOptions(options);
  const Signature &signature = kernel.signature();
  checkNames(signature, options);
  Dimensions dims = options.shape;
  dims["R"] = options.ranks;
  Subject subject{kernel.name(), kernelOf(kernel.traced().module.get()), {}};
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
  return subject;
}

Subject Subject::of(ModuleOp module, const CheckOptions &options) {
  checkOptions(options);
  func::FuncOp kernel = kernelOf(module);
  Subject subject{kernel.getName().str(), kernel, {}};
  for (unsigned n = 0; n < kernel.getNumArguments(); ++n)
    subject.arguments.push_back(planOf(kernel, n, options));
  return subject;
}

Subject Subject::with(ModuleOp copy) const { return {name, kernelOf(copy), arguments}; }

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

ArgumentSet::ArgumentSet(const Subject &subject, const CheckOptions &options) : subject_(subject) {
  auto input = options.input ? options.input : standardInput;
  for (int64_t rank = 0; rank < options.ranks; ++rank) {
    auto &memory = memory_.emplace_back();
    auto &values = values_.emplace_back();
    for (size_t n = 0; n < subject.arguments.size(); ++n) {
      const ArgumentPlan &plan = subject.arguments[n];
      memory.emplace_back();
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
