// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/core/Memories.h"
#include "ditron/core/Place.h"
#include "ditron/device/LowerInboxes.h"
#include "ditron/lang/Trace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

using namespace mlir;

namespace ditron {
using namespace detail;

/// The parameters that there is an argument for. CompileError where the numbers differ, or an
/// argument is absent that the lambda needs.
static std::vector<Parameter> presentOf(const Signature &signature,
                                        const std::vector<Parameter> &parameters, Location where) {
  const std::vector<bool> &isAbsent = signature.isAbsent();
  if (parameters.size() != isAbsent.size())
    throw CompileError(fmt::format("{}: the signature has {} arguments but the lambda takes {}",
                                   signature.text(), isAbsent.size(), parameters.size()),
                       where);
  std::vector<Parameter> present;
  for (size_t n = 0; n < parameters.size(); ++n)
    if (!isAbsent[n])
      present.push_back(parameters[n]);
    else if (!parameters[n].isOptional)
      throw CompileError(fmt::format("{}: argument {} is absent but the lambda's parameter is no "
                                     "std::optional",
                                     signature.text(), n + 1),
                         where);
  return present;
}

/// The lambda's parameters are the signature's arguments, in kind and dimensions.
static void checkParameters(const Signature &signature, const std::vector<Parameter> &parameters,
                            Location where) {
  const std::vector<Argument> &arguments = signature.arguments();
  for (size_t n = 0; n < arguments.size(); ++n) {
    const Argument &argument = arguments[n];
    const Parameter &parameter = parameters[n];
    bool isView = parameter.kind == Parameter::Kind::view;
    std::string problem;
    if (isView == argument.isScalar)
      problem = argument.isScalar ? "has no dimensions but is a view in the lambda"
                                  : "has dimensions but is a scalar in the lambda";
    else if (isView && parameter.rank != static_cast<int>(argument.dims.size()))
      problem = fmt::format("has {} dimensions but {} in the lambda", argument.dims.size(),
                            parameter.rank);
    else if (argument.isOutput && parameter.access == Access::read)
      problem = "is an output but In in the lambda";
    else if (!argument.isOutput && parameter.access == Access::write)
      problem = "is an input but Out in the lambda";
    if (!problem.empty())
      throw CompileError(fmt::format("{}: {} {}", signature.text(), argument.name, problem), where);
  }
}

static Type typeOf(MLIRContext *context, const Parameter &parameter) {
  switch (parameter.kind) {
  case Parameter::Kind::view:
    return device::viewType(parameter.rank, elementType(context, parameter.dtype));
  case Parameter::Kind::scalar:
    return elementType(context, parameter.dtype);
  case Parameter::Kind::index:
    break;
  }
  return IndexType::get(context);
}

func::FuncOp detail::makeFunction(OpBuilder &builder, mlir::Location where,
                                  const TracedKernel &kernel) {
  SmallVector<Type> types;
  for (const Parameter &parameter : kernel.parameters)
    types.push_back(typeOf(builder.getContext(), parameter));
  auto function = builder.create<func::FuncOp>(where, kernel.signature.name(),
                                               builder.getFunctionType(types, {}));
  function->setAttr(ditron::core::kKernelAttr, builder.getUnitAttr());
  SmallVector<Attribute> extents;
  for (auto [n, argument] : llvm::enumerate(kernel.signature.arguments())) {
    SmallVector<std::string> texts;
    for (const Dimension &dim : argument.dims)
      texts.push_back(dim.text());
    extents.push_back(builder.getStrArrayAttr(SmallVector<StringRef>(texts.begin(), texts.end())));
    function.setArgAttr(n, ditron::core::kNameAttr, builder.getStringAttr(argument.name));
    if (kernel.parameters[n].kind == Parameter::Kind::view &&
        kernel.parameters[n].access == Access::read)
      function.setArgAttr(n, ditron::core::kReadOnlyAttr, builder.getUnitAttr());
  }
  function->setAttr(ditron::core::kExtentsAttr, builder.getArrayAttr(extents));
  function.addEntryBlock();
  return function;
}

/// CompileError with the first message if the IR does not verify.
static void verifyIR(ModuleOp module) {
  std::string message;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    if (message.empty()) {
      llvm::raw_string_ostream stream(message);
      if (auto where = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
        stream << core::placeOf(where).text() << ": ";
      stream << diagnostic.str();
    }
    return success();
  });
  if (failed(verify(module)))
    throw CompileError(message);
}

Kernel::Kernel(Signature signature, std::vector<Parameter> parameters, const Body &body,
               Location where) {
  auto kernel = std::make_shared<TracedKernel>();
  kernel->parameters = presentOf(signature, parameters, where);
  checkParameters(signature, kernel->parameters, where);
  kernel->signature = std::move(signature);
  kernel->context = makeContext();
  Trace trace(*kernel->context);
  OpBuilder &builder = trace.builder();
  mlir::Location at = trace.locationOf(where);
  kernel->module = ModuleOp::create(at);
  builder.setInsertionPointToEnd(kernel->module->getBody());
  func::FuncOp function = makeFunction(builder, at, *kernel);
  builder.setInsertionPointToEnd(&function.getBody().front());

  struct Restore {
    Trace *before;
    ~Restore() { Trace::exchange(before); }
  } restore{Trace::exchange(&trace)};
  std::vector<Handle> values;
  auto nextArgument = [&, n = 0u]() mutable { return wrap(function.getArgument(n++)); };
  for (bool isAbsent : kernel->signature.isAbsent())
    values.push_back(isAbsent ? Handle() : nextArgument());
  body(values);
  trace.checkClosed();
  builder.create<func::ReturnOp>(at);
  verifyIR(*kernel->module);
  if (!function.front().getOps<device::InboxOp>().empty()) {
    kernel->withVerbs = kernel->module->clone();
    if (failed(device::lowerInboxes(*kernel->withVerbs)))
      throw InternalError("the inboxes of a traced kernel cannot be expanded");
  }
  traced_ = std::move(kernel);
}

const Signature &Kernel::signature() const { return traced_->signature; }
const std::vector<Parameter> &Kernel::parameters() const { return traced_->parameters; }

/// The number of an argument that the kernel reads, or writes.
static size_t argumentOf(const Kernel &kernel, std::string_view name, bool isOutput,
                         Location where) {
  const std::vector<Argument> &arguments = kernel.signature().arguments();
  for (size_t n = 0; n < arguments.size(); ++n)
    if (arguments[n].name == name && arguments[n].isOutput == isOutput && !arguments[n].isScalar)
      return n;
  throw CompileError(fmt::format("{}: '{}' is no {} of the kernel, as work in place needs it",
                                 kernel.signature().text(), name, isOutput ? "output" : "input"),
                     where);
}

/// A copy of the IR of a kernel, in another context, in which an output may be the elements of an input.
static OwningOpRef<ModuleOp> withPair(ModuleOp module, unsigned output, unsigned input,
                                      MLIRContext *context) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().enableDebugInfo());
  auto copy = parseSourceString<ModuleOp>(text, context);
  if (!copy)
    throw InternalError("the text of a traced kernel cannot be parsed");
  core::setInPlace(*copy->getOps<func::FuncOp>().begin(), output, input);
  return copy;
}

/// The same kernel with such a pair.
static std::shared_ptr<const TracedKernel>
withPair(const std::shared_ptr<const TracedKernel> &traced, unsigned output, unsigned input) {
  if (!traced->module) // it is no more than a signature
    return traced;
  std::lock_guard own(traced->compiling);
  func::FuncOp function = *traced->module.get().getOps<func::FuncOp>().begin();
  int64_t number = core::inPlaceNumber(function.getArgument(output));
  if (number >= 0 && number == core::inPlaceNumber(function.getArgument(input)))
    return traced;
  auto copy = std::make_shared<TracedKernel>();
  copy->signature = traced->signature;
  copy->parameters = traced->parameters;
  copy->context = makeContext();
  copy->context->printOpOnDiagnostic(traced->context->shouldPrintOpOnDiagnostic());
  copy->module = withPair(traced->module.get(), output, input, copy->context.get());
  if (traced->withVerbs)
    copy->withVerbs = withPair(traced->withVerbs.get(), output, input, copy->context.get());
  return copy;
}

Kernel Kernel::inPlace(std::string_view output, std::string_view input, Location where) const {
  size_t written = argumentOf(*this, output, true, where),
         read = argumentOf(*this, input, false, where);
  Kernel result = *this;
  result.inPlace_.emplace_back(written, read);
  result.traced_ = withPair(traced_, static_cast<unsigned>(written), static_cast<unsigned>(read));
  return result;
}

bool Kernel::isInPlace(size_t output, size_t input) const {
  return std::find(inPlace_.begin(), inPlace_.end(), std::pair(output, input)) != inPlace_.end();
}

std::string Kernel::ir() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  traced_->module.get()->print(stream);
  return text;
}

void Kernel::dump() const { std::fputs(ir().c_str(), stdout); }

} // namespace ditron
