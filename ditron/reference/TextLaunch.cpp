// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/reference/TextLaunch.h"
#include "ditron/core/TileOps.h"
#include "ditron/device/DistOps.h"
#include "ditron/device/LowerInboxes.h"
#include "ditron/reference/Interpreter.h"
#include "ditron/support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include <fmt/format.h>

using namespace mlir;

namespace ditron::reference {

struct ParsedKernel::Impl {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
};

ParsedKernel::ParsedKernel(const std::string &ir) : impl_(std::make_unique<Impl>()) {
  impl_->context.loadDialect<core::TileDialect, device::DistDialect, arith::ArithDialect,
                             func::FuncDialect, math::MathDialect, memref::MemRefDialect,
                             scf::SCFDialect, tensor::TensorDialect>();
  impl_->module = parseSourceString<ModuleOp>(ir, &impl_->context);
  if (!impl_->module)
    throw InternalError("the text of a traced kernel cannot be parsed");
  if (failed(device::lowerInboxes(*impl_->module)))
    throw InternalError("the inboxes of a traced kernel cannot be expanded");
  auto functions = impl_->module->getOps<func::FuncOp>();
  if (functions.empty())
    throw InternalError("the text of a traced kernel has no function");
  impl_->function = *functions.begin();
}

ParsedKernel::~ParsedKernel() = default;

bool ParsedKernel::isOfRanks() const { return device::isOfRanks(impl_->function); }

static ArgumentValue valueOf(const runtime::KernelArgument &argument) {
  if (const auto *integer = std::get_if<int64_t>(&argument))
    return *integer;
  if (const auto *number = std::get_if<double>(&argument))
    return *number;
  const auto &tensor = std::get<runtime::Tensor>(argument);
  return ArgumentMemory{tensor.data(), tensor.dtype(), tensor.shape(), tensor.strides()};
}

std::vector<std::string> ParsedKernel::launch(const LaunchParts &parts, int cores, int nodes,
                                              const MeshAxes &mesh, uint64_t seed,
                                              std::chrono::milliseconds time) const {
  std::vector<std::vector<ArgumentValue>> arguments;
  for (const LaunchPart *part : parts) {
    if (*part->ir != *parts[0]->ir)
      throw CompileError(fmt::format("rank {} launches kernel '{}' but rank 0 '{}', or another "
                                     "configuration of it: expected the same on every rank",
                                     arguments.size(), part->kernel, parts[0]->kernel));
    auto &values = arguments.emplace_back();
    for (const runtime::KernelArgument &argument : part->arguments)
      values.push_back(valueOf(argument));
  }
  Options options;
  options.ranks = static_cast<int64_t>(parts.size());
  options.cores = cores;
  options.nodes = nodes;
  options.mesh = mesh;
  options.seed = seed;
  options.time = time;
  options.randomSchedule = seed != 0;
  return interpret(impl_->function, arguments, options).warnings;
}

} // namespace ditron::reference
