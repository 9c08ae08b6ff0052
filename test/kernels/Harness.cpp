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

Outputs makeArguments(const Kernel &kernel, const Problem &problem, const Inputs &inputs) {
  Outputs result(problem.ranks);
  const auto &arguments = kernel.signature().arguments();
  for (int64_t rank = 0; rank < problem.ranks; ++rank)
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
                     Outputs &arguments, uint64_t schedule) {
  const auto &descriptions = kernel.signature().arguments();
  std::vector<std::vector<reference::ArgumentValue>> values(problem.ranks);
  for (int64_t rank = 0; rank < problem.ranks; ++rank)
    for (size_t n = 0; n < descriptions.size(); ++n)
      if (descriptions[n].isScalar)
        values[rank].push_back(inputs.scalar(n));
      else
        values[rank].push_back(reference::ArgumentMemory{arguments[rank][n].data(), inputs.type(n),
                                                         inputs.shape(n),
                                                         denseStrides(inputs.shape(n))});
  reference::Options options;
  options.ranks = problem.ranks;
  options.cores = problem.cores;
  options.seed = schedule;
  options.randomSchedule = schedule != 0;
  auto function = *kernel.traced().meaning().getOps<mlir::func::FuncOp>().begin();
  reference::Result result = reference::interpret(function, values, options);
  for (const std::string &warning : result.warnings)
    ADD_FAILURE() << warning;
}

void launchKernel(const Kernel &kernel, const Problem &problem, const Inputs &inputs,
                  Outputs &arguments, int launches) {
  const auto &descriptions = kernel.signature().arguments();
  Options options;
  options.ranks = static_cast<int>(problem.ranks);
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
  for (int64_t rank = 0; rank < run.problem.ranks; ++rank)
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
                 const std::string &variant) {
  Config config = entry.defaults(problem);
  config.parse(variant, entry.parameters);
  SCOPED_TRACE(describe(entry, problem, config));
  Kernel kernel = entry.kernel(problem.type, config);
  Inputs inputs(entry, kernel, problem, /*seed=*/7);
  Outputs arguments = makeArguments(kernel, problem, inputs);
  if (backend == Backend::cpu)
    launchKernel(kernel, problem, inputs, arguments, /*launches=*/3);
  else
    interpretKernel(kernel, problem, inputs, arguments);
  Verdict verdict = judge(entry, {problem, config, inputs}, kernel, arguments);
  EXPECT_TRUE(verdict.ok) << verdict.failure;
  EXPECT_GT(verdict.checked, 0);
}

} // namespace ditron::kernels
