// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/FileKernel.h"
#include "ditron/device/DistOps.h"
#include "ditron/driver/Compile.h"
#include "ditron/lang/Trace.h"
#include "ditron/support/Error.h"
#include "ditron/task/KernelText.h"
#include "tools/ditron/GraphFile.h"
#include "tools/ditron/LaunchArguments.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>

namespace ditron::tools {

using detail::Parameter;

bool isFile(std::string_view kernel) { return kernel.ends_with(".mlir"); }

void refuseOptionsOfLibrary(const KernelArguments &arguments) {
  if (!arguments.config.empty() || !arguments.dtype.empty() || !arguments.axis.empty())
    throw UsageError("--config, --dtype and --axis are for kernels of the library, not for a file "
                     "of IR");
}

Kernel readKernelOf(const KernelArguments &arguments) {
  refuseOptionsOfLibrary(arguments);
  KernelText source{readText(arguments.kernel), arguments.kernel};
  if (arguments.function.empty() && hasGraphs({source.text, source.file}))
    throw UsageError(fmt::format("{} has graphs, expected --function with the name of one of its "
                                 "kernels; ditron trace runs a graph, ditron check proves it",
                                 source.file));
  return readKernel(source, arguments.function);
}

//===-- Sizes ---------------------------------------------------------------------------------===//

namespace {

std::vector<int64_t> parseExtents(const std::string &argument, const std::string &text) {
  std::vector<int64_t> extents;
  std::istringstream stream(text);
  for (std::string extent; std::getline(stream, extent, 'x');)
    extents.push_back(kernels::parseInteger("--shape: " + argument, extent, 1));
  return extents;
}

double parseScalar(const std::string &name, const std::string &text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    throw UsageError(fmt::format("--shape: {} is '{}', expected a number", name, text));
  return value;
}

/// What --shape may name: "dimensions M, K, arguments A, B, scalars alpha".
std::string describeNames(const Signature &signature) {
  std::vector<std::string> views, scalars, parts;
  for (const Argument &argument : signature.arguments())
    (argument.isScalar ? scalars : views).push_back(argument.name);
  auto add = [&](const char *what, const std::vector<std::string> &names) {
    if (!names.empty())
      parts.push_back(fmt::format("{} {}", what, fmt::join(names, ", ")));
  };
  add("a dimension of", signature.dimensionNames());
  add("an argument of", views);
  add("a scalar of", scalars);
  return fmt::format("{}", fmt::join(parts, ", or "));
}

/// Adds the extents that follow from those of arguments.
void addBound(Dimensions &dims, const Signature &signature,
              const std::vector<std::vector<int64_t>> &extents, const runtime::MeshShape &mesh) {
  std::vector<const std::vector<int64_t> *> given;
  for (const std::vector<int64_t> &one : extents)
    given.push_back(one.empty() ? nullptr : &one);
  if (std::all_of(given.begin(), given.end(), [](const auto *one) { return !one; }))
    return;
  for (const auto &[name, extent] : signature.bind(given, mesh.nodes * mesh.local, mesh.axes)) {
    auto [known, isNew] = dims.emplace(name, extent);
    if (known->second != extent)
      throw UsageError(fmt::format("--shape: {} is {}, but the arguments make it {}", name,
                                   known->second, extent));
  }
}

} // namespace

FileSizes parseFileSizes(const Kernel &kernel, const std::string &text,
                         const runtime::MeshShape &mesh) {
  const Signature &signature = kernel.signature();
  const std::vector<Argument> &arguments = signature.arguments();
  std::vector<std::string> names = signature.dimensionNames();
  std::vector<std::vector<int64_t>> extents(arguments.size());
  FileSizes sizes;
  for (const auto &[name, value] : kernels::parseAssignments(text, "--shape")) {
    auto argument = std::find_if(arguments.begin(), arguments.end(),
                                 [&](const Argument &one) { return one.name == name; });
    if (argument == arguments.end() && std::find(names.begin(), names.end(), name) == names.end())
      throw UsageError(
          fmt::format("--shape gives '{}', expected {}", name, describeNames(signature)));
    if (argument == arguments.end())
      sizes.dims[name] = kernels::parseInteger("--shape: " + name, value, 1);
    else if (argument->isScalar)
      sizes.scalars.push_back({name, parseScalar(name, value)});
    else
      extents[size_t(argument - arguments.begin())] = parseExtents(name, value);
  }
  addBound(sizes.dims, signature, extents, mesh);
  std::erase_if(sizes.dims, [&](const auto &one) {
    return std::find(names.begin(), names.end(), one.first) == names.end(); // R, which ranks make
  });
  return sizes;
}

//===-- Tasks ---------------------------------------------------------------------------------===//

namespace {

/// UsageError where a launch would not know an extent or a scalar.
void requireAll(const Kernel &kernel, const FileSizes &sizes) {
  std::vector<std::string> missing;
  for (const std::string &name : kernel.signature().dimensionNames())
    if (!sizes.dims.contains(name))
      missing.push_back(name);
  for (const Argument &argument : kernel.signature().arguments())
    if (argument.isScalar &&
        std::none_of(sizes.scalars.begin(), sizes.scalars.end(),
                     [&](const auto &scalar) { return scalar.name == argument.name; }))
      missing.push_back(argument.name);
  if (!missing.empty())
    throw UsageError(fmt::format("{} needs {}: expected --shape {}=...", kernel.signature().text(),
                                 fmt::join(missing, ", "), fmt::join(missing, "=...,")));
}

/// The element type that a run of it is called by: of its first tensor.
DType typeOf(const Kernel &kernel) {
  for (const Parameter &parameter : kernel.parameters())
    if (parameter.kind == Parameter::Kind::view)
      return parameter.dtype;
  return kernel.parameters().front().dtype;
}

bool isOfRanks(const Kernel &kernel) {
  std::lock_guard own(kernel.traced().compiling);
  return device::isOfRanks(*kernel.traced().meaning().getOps<mlir::func::FuncOp>().begin());
}

} // namespace

Task makeFileTask(const KernelArguments &arguments, const std::string &shape,
                  const runtime::MeshShape &mesh, int cores, const std::string &target) {
  Kernel kernel = readKernelOf(arguments);
  FileSizes sizes = parseFileSizes(kernel, shape, mesh);
  requireAll(kernel, sizes);
  auto file = std::make_shared<FileKernel>(FileKernel{{}, Interpretation(kernel, mesh)});
  file->entry.name = kernel.name();
  file->entry.dtypes = {typeOf(kernel)};
  file->entry.isDistributed = isOfRanks(kernel);
  file->entry.scalars = sizes.scalars;
  kernels::Problem problem;
  problem.type = file->entry.dtypes.front();
  problem.dims = sizes.dims;
  problem.ranks = mesh.nodes * mesh.local;
  problem.cores = cores;
  problem.target = traitsOf(target);
  kernels::Config config({});
  for (const kernels::ConfigParameter &parameter : tune::scheduleParameters(problem.target))
    config.add({parameter.name, 0});
  return {file->entry, problem, config, kernel, false, file};
}

} // namespace ditron::tools
