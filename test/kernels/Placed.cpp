// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Placed.h"
#include <cmath>
#include <fmt/ranges.h>
#include <mutex>

namespace ditron::kernels {

double element(int64_t rank, size_t argument, const Place &at) {
  int64_t value = 3 + 5 * static_cast<int64_t>(argument) + 11 * rank;
  for (int64_t index : at)
    value = 7 * value + 13 * index;
  return double(value % 7) - 3;
}

void forEach(const Place &shape, const std::function<void(const Place &at)> &fn) {
  Place at(shape.size(), 0);
  for (int64_t rest = 1; rest >= 0;) {
    fn(at);
    rest = -1;
    for (size_t d = shape.size(); d-- > 0 && rest < 0;)
      if (++at[d] < shape[d])
        rest = 1;
      else
        at[d] = 0;
  }
}

void expectOutput(const Kernel &kernel, Dimensions dims, const Run &run,
                  const Expectation &expected, const Source &source, double tolerance) {
  SCOPED_TRACE(fmt::format("{} on {}, {} ranks x {} cores", kernel.signature().text(), run.backend,
                           run.ranks, run.cores));
  dims["R"] = run.ranks;
  dims["R_node"] = run.nodes;
  dims["R_local"] = run.ranks / run.nodes;
  Options options;
  options.ranks = run.ranks;
  options.cores = run.cores;
  options.mesh = {run.nodes, 0};
  if (!run.mesh.empty())
    options.mesh = runtime::MeshRequest::parse(run.mesh);
  for (const MeshAxes::Axis &axis : options.mesh.axes.axes())
    dims["R_" + axis.name] = axis.extent;
  options.backend = run.backend;
  options.heapBytes = size_t(1) << 24;
  options.poison = true;
  std::mutex oneAtATime;
  runRanks(options, [&](Context &context) {
    std::vector<KernelArgument> values;
    Tensor output;
    for (const Argument &argument : kernel.signature().arguments()) {
      if (argument.isScalar) {
        values.emplace_back(2.0);
        continue;
      }
      size_t number = values.size();
      Tensor tensor = context.tensor(kernel.parameters()[number].dtype,
                                     kernel.signature().shape(argument, dims));
      forEach(tensor.shape(), [&](const Place &at) {
        tensor.set(at, argument.isOutput ? NAN : source(context.rank(), number, at));
      });
      values.emplace_back(tensor);
      output = tensor;
    }
    Program program = context.compile(kernel);
    for (int launch = 0; launch < 3; ++launch)
      program.launch(values);
    context.sync();
    std::lock_guard own(oneAtATime);
    int wrong = 0;
    forEach(output.shape(), [&](const Place &at) {
      double found = output.at(at), wanted = expected(context.rank(), at);
      if (std::isnan(wanted) && std::isnan(found))
        return; // not written
      if (!(std::abs(found - wanted) <= tolerance) && ++wrong < 4)
        ADD_FAILURE() << fmt::format("rank {}, element [{}] is {}, expected {}", context.rank(),
                                     fmt::join(at, ","), found, wanted);
    });
    EXPECT_EQ(wrong, 0);
  });
}

void expectProved(const Kernel &kernel, int ranks, const Dimensions &shape) {
  CheckOptions options;
  options.ranks = ranks;
  options.cores = 2;
  options.shape = shape;
  Verdict verdict = check(kernel, options);
  EXPECT_TRUE(verdict.clean());
  EXPECT_EQ(verdict.method, Method::proved);
}

} // namespace ditron::kernels
