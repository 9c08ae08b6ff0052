// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"
#include "ditron/driver/Context.h"
#include "ditron/lang/Trace.h"
#include "ditron/reference/Interpreter.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace ditron::kernels {

static int64_t numElements(const std::vector<int64_t> &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

int64_t worldOf(const Problem &problem, const MeshAxes &mesh) {
  return mesh.empty() ? problem.ranks : mesh.ranks();
}

Outputs makeArguments(const Kernel &kernel, const Problem &problem, const Inputs &inputs,
                      const MeshAxes &mesh) {
  int64_t ranks = worldOf(problem, mesh);
  Outputs result(ranks);
  const auto &arguments = kernel.signature().arguments();
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (size_t n = 0; n < arguments.size(); ++n) {
      size_t bytes = numElements(inputs.shape(n)) * byteSize(inputs.type(n));
      // All bits set: NaN in every float type.
      std::vector<std::byte> memory(bytes, std::byte(0xff));
      if (!arguments[n].isOutput && !arguments[n].isScalar)
        inputs.fill(rank, n, memory.data());
      result[rank].push_back(std::move(memory));
    }
  return result;
}

static std::vector<int64_t> denseStrides(const std::vector<int64_t> &sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

void interpretKernel(const Kernel &kernel, const Problem &problem, const Inputs &inputs,
                     Outputs &arguments, uint64_t schedule, const MeshAxes &mesh) {
  const auto &descriptions = kernel.signature().arguments();
  int64_t ranks = worldOf(problem, mesh);
  std::vector<std::vector<reference::ArgumentValue>> values(ranks);
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (size_t n = 0; n < descriptions.size(); ++n)
      if (descriptions[n].isScalar)
        values[rank].push_back(inputs.scalar(n));
      else
        values[rank].push_back(reference::ArgumentMemory{arguments[rank][n].data(), inputs.type(n),
                                                         inputs.shape(n),
                                                         denseStrides(inputs.shape(n))});
  reference::Options options;
  options.ranks = ranks;
  options.mesh = mesh;
  options.cores = problem.cores;
  options.seed = schedule;
  options.randomSchedule = schedule != 0;
  auto function = *kernel.traced().meaning().getOps<mlir::func::FuncOp>().begin();
  reference::Result result = reference::interpret(function, values, options);
  for (const std::string &warning : result.warnings)
    ADD_FAILURE() << warning;
}

void launchKernel(const Kernel &kernel, const Problem &problem, const Inputs &inputs,
                  Outputs &arguments, int launches, const MeshAxes &mesh) {
  const auto &descriptions = kernel.signature().arguments();
  Options options;
  options.ranks = static_cast<int>(worldOf(problem, mesh));
  options.mesh.axes = mesh;
  options.cores = static_cast<int>(problem.cores);
  options.heapBytes = size_t(1) << 24;
  options.poison = true;
  runRanks(options, [&](Context &context) {
    std::vector<KernelArgument> values;
    for (size_t n = 0; n < descriptions.size(); ++n)
      if (descriptions[n].isScalar)
        values.emplace_back(inputs.scalar(n));
      else
        values.emplace_back(
            Tensor::borrow(arguments[context.rank()][n].data(), inputs.type(n), inputs.shape(n)));
    Program program = context.compile(kernel);
    for (int n = 0; n < launches; ++n)
      program.launch(values);
  });
}

Verdict judge(const KernelEntry &entry, const Case &run, const Kernel &kernel,
              const Outputs &arguments) {
  Verdict verdict;
  const auto &descriptions = kernel.signature().arguments();
  for (size_t rank = 0; rank < arguments.size(); ++rank)
    for (size_t n = 0; n < descriptions.size(); ++n)
      if (descriptions[n].isOutput)
        verdict.merge(verify(entry, run, rank, n, arguments[rank][n].data(), int64_t(1) << 40));
  return verdict;
}

std::string describe(const KernelEntry &entry, const Problem &problem, const Config &config) {
  std::string text = fmt::format("{} {} R={} cores={}", entry.name, name(problem.type),
                                 problem.ranks, problem.cores);
  for (const auto &[dimension, extent] : problem.dims)
    text += fmt::format(" {}={}", dimension, extent);
  return text + " " + config.text(entry.parameters);
}

void expectRight(Backend backend, const KernelEntry &entry, const Problem &problem,
                 const std::string &variant, const MeshAxes &mesh) {
  Config config = entry.defaults(problem);
  config.parse(variant, entry.parameters);
  SCOPED_TRACE(describe(entry, problem, config));
  Kernel kernel = entry.kernel(problem, config);
  Inputs inputs(entry, kernel, problem, /*seed=*/7);
  Outputs arguments = makeArguments(kernel, problem, inputs, mesh);
  if (backend == Backend::cpu)
    launchKernel(kernel, problem, inputs, arguments, /*launches=*/3, mesh);
  else
    interpretKernel(kernel, problem, inputs, arguments, /*schedule=*/0, mesh);
  Verdict verdict = judge(entry, {problem, config, inputs}, kernel, arguments);
  EXPECT_TRUE(verdict.ok) << verdict.failure;
  EXPECT_GT(verdict.checked, 0);
}

} // namespace ditron::kernels
