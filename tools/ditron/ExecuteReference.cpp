// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Execute.h"
#include "ditron/lang/Trace.h"
#include "ditron/reference/Interpreter.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>

namespace ditron::tools {

namespace {

reference::ArgumentValue argumentOf(const Operands::Value &value) {
  if (auto *integer = std::get_if<int64_t>(&value))
    return *integer;
  if (auto *number = std::get_if<double>(&value))
    return *number;
  const auto &tensor = std::get<runtime::Tensor>(value);
  return reference::ArgumentMemory{tensor.data(), tensor.dtype(), tensor.shape(), tensor.strides()};
}

mlir::func::FuncOp functionOf(const Kernel &kernel) {
  mlir::ModuleOp module = kernel.traced().module.get();
  for (auto function : module.getOps<mlir::func::FuncOp>())
    return function;
  throw InternalError(fmt::format("the trace of {} has no function", kernel.name()));
}

reference::Options optionsFor(const Placement &placement) {
  reference::Options options;
  options.ranks = placement.ranks;
  options.cores = placement.cores;
  return options;
}

/// Interprets one launch of all ranks; returns the seconds that it took.
double interpret(const Task &task, const Placement &placement, std::vector<Operands> &operands,
                 uint64_t seed, Progress &progress, std::vector<std::string> &warnings) {
  std::vector<std::vector<reference::ArgumentValue>> arguments;
  for (const Operands &rank : operands) {
    auto &values = arguments.emplace_back();
    for (const Operands::Value &value : rank.values())
      values.push_back(argumentOf(value));
  }
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  reference::Interpreter interpreter(functionOf(task.kernel), arguments, optionsFor(placement));
  reference::RandomChoice scheduler(seed);
  for (uint64_t step = 0; !interpreter.isDone(); ++step) {
    interpreter.step(scheduler.pick(interpreter.runnable()));
    if (step % 1024 == 0)
      progress.show(fmt::format("{}: {} operations interpreted", task.entry.name, step));
  }
  double seconds = elapsed();
  for (const std::string &warning : interpreter.result().warnings)
    warnings.push_back(warning);
  return seconds;
}

} // namespace

RunResult runReference(const Task &task, const Placement &placement, const RunOptions &options) {
  Progress progress;
  std::vector<Operands> operands;
  for (int rank = 0; rank < placement.ranks; ++rank)
    operands.emplace_back(task);
  RunResult result;
  result.seed = options.seed;
  for (int launch = 0; launch < options.launches; ++launch) {
    uint64_t seed = options.seed + uint64_t(launch);
    kernels::Inputs inputs(task.entry, task.kernel, task.problem, seed);
    for (int rank = 0; rank < placement.ranks; ++rank)
      operands[size_t(rank)].fill(inputs, rank);
    result.seconds.push_back(interpret(task, placement, operands, seed, progress, result.warnings));
    for (int rank = 0; rank < placement.ranks; ++rank) {
      progress.show(fmt::format("{}: verifying rank {}", task.entry.name, rank));
      result.findings.merge(verify(task, inputs, rank, operands[size_t(rank)]));
    }
  }
  return result;
}

} // namespace ditron::tools
