// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/KernelFunction.h"
#include "ditron/core/ElementType.h"
#include "ditron/device/LowerInboxes.h"
#include "ditron/device/Placement.h"
#include "ditron/support/Error.h"
#include "ditron/task/PreparedKernel.h"
#include "ditron/task/TaskOps.h"
#include "mlir/Parser/Parser.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace ditron::task {

using ditron::detail::Parameter;

namespace {

[[noreturn]] void refuse(func::FuncOp function, const std::string &problem) {
  throw CompileError(fmt::format("kernel '{}': {}", function.getName().str(), problem));
}

/// Reads the arguments of a function.
class FaceReader {
public:
  explicit FaceReader(func::FuncOp function)
      : function_(function), extents_(function->getAttrOfType<ArrayAttr>(core::kExtentsAttr)) {}

  void read(TracedKernel &kernel) {
    std::vector<std::string> inputs, outputs;
    for (unsigned n = 0; n < function_.getNumArguments(); ++n) {
      Parameter parameter = parameterOf(n);
      if (parameter.access == Access::read && !outputs.empty())
        refuse(function_, fmt::format("argument {} is only read but stands behind one that is "
                                      "written: expected inputs, then outputs",
                                      nameOf(n)));
      (parameter.access == Access::read ? inputs : outputs).push_back(textOf(n, parameter));
      kernel.parameters.push_back(parameter);
    }
    if (outputs.empty())
      refuse(function_, "it writes no argument, expected one without tile.readonly");
    kernel.signature = Signature(fmt::format("{}({}) -> {}", function_.getName().str(),
                                             fmt::join(inputs, ", "), fmt::join(outputs, ", ")));
  }

private:
  std::string nameOf(unsigned n) {
    auto name = function_.getArgAttrOfType<StringAttr>(n, core::kNameAttr);
    return name ? name.str() : fmt::format("argument{}", n);
  }

  Parameter parameterOf(unsigned n) {
    Type type = function_.getArgumentTypes()[n];
    if (isa<IndexType>(type))
      return {Parameter::Kind::index, Access::read, DType::i64, 0};
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref)
      return {Parameter::Kind::scalar, Access::read, dtypeOf(n, type), 0};
    bool isRead = bool(function_.getArgAttr(n, core::kReadOnlyAttr));
    return {Parameter::Kind::view, isRead ? Access::read : Access::write,
            dtypeOf(n, memref.getElementType()), static_cast<int>(memref.getRank())};
  }

  DType dtypeOf(unsigned n, Type element) {
    if (std::optional<DType> known = core::dtypeOf(element))
      return *known;
    std::string text;
    llvm::raw_string_ostream(text) << element;
    refuse(function_,
           fmt::format("argument {} is of {}, which is no element type", nameOf(n), text));
  }

  std::string textOf(unsigned n, const Parameter &parameter) {
    if (parameter.kind != Parameter::Kind::view)
      return nameOf(n);
    std::vector<std::string> dims;
    auto texts = extents_ && n < extents_.size() ? dyn_cast<ArrayAttr>(extents_[n]) : ArrayAttr();
    auto type = cast<MemRefType>(function_.getArgumentTypes()[n]);
    for (int64_t d = 0; d < type.getRank(); ++d) {
      auto text = texts && static_cast<size_t>(d) < texts.size() ? dyn_cast<StringAttr>(texts[d])
                                                                 : StringAttr();
      dims.push_back(text                   ? text.str()
                     : type.isDynamicDim(d) ? fmt::format("{}_{}", nameOf(n), d)
                                            : std::to_string(type.getDimSize(d)));
    }
    return fmt::format("{}[{}]", nameOf(n), fmt::join(dims, ","));
  }

  func::FuncOp function_;
  ArrayAttr extents_;
};

/// The pairs of arguments that may be the same elements.
void addInPlace(Kernel &kernel, func::FuncOp function) {
  auto pairs = function->getAttrOfType<ArrayAttr>(kInPlaceAttr);
  const std::vector<Argument> &arguments = kernel.signature().arguments();
  for (Attribute pair : pairs ? pairs.getValue() : ArrayRef<Attribute>()) {
    auto numbers = dyn_cast<DenseI64ArrayAttr>(pair);
    auto isArgument = [&](int64_t n) { return n >= 0 && n < int64_t(arguments.size()); };
    if (!numbers || numbers.size() != 2 || !isArgument(numbers[0]) || !isArgument(numbers[1]))
      refuse(function, fmt::format("{} names no two of its arguments", kInPlaceAttr.str()));
    kernel = kernel.inPlace(arguments[size_t(numbers[0])].name, arguments[size_t(numbers[1])].name);
  }
}

std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream, OpPrintingFlags().enableDebugInfo());
  return text;
}

/// A module that has the function alone.
OwningOpRef<ModuleOp> moduleWith(func::FuncOp function, MLIRContext *context) {
  function.walk([&](func::CallOp call) {
    refuse(function, fmt::format("it calls function '{}', expected a kernel whose operations all "
                                 "stand in it",
                                 call.getCallee().str()));
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(textOf(function), context);
  if (!module)
    throw InternalError("the text of a function cannot be parsed");
  return module;
}

/// Writes the verbs of placed arguments, and those that inboxes stand for.
void writeVerbs(TracedKernel &kernel, func::FuncOp function) {
  std::string problem;
  ScopedDiagnosticHandler handler(kernel.context.get(), [&](Diagnostic &diagnostic) {
    if (problem.empty())
      problem = diagnostic.str();
    return success();
  });
  kernel.withVerbs = kernel.module->clone();
  if (failed(device::lowerPlacements(*kernel.withVerbs)))
    refuse(function, problem.empty() ? "its arguments cannot be placed" : problem);
  if (failed(device::lowerInboxes(*kernel.withVerbs)))
    refuse(function, problem.empty() ? "its inboxes cannot be expanded" : problem);
}

} // namespace

std::vector<std::string> kernelNames(ModuleOp module) {
  std::vector<std::string> names;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(core::kKernelAttr))
      names.push_back(function.getName().str());
  if (names.empty())
    throw CompileError("the module has no function marked tile.kernel");
  return names;
}

func::FuncOp findKernel(ModuleOp module, const std::string &name) {
  std::vector<std::string> names = kernelNames(module);
  if (name.empty() && names.size() > 1)
    throw CompileError(fmt::format("the module has the kernels {}, expected the name of one",
                                   fmt::join(names, ", ")));
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
    throw CompileError(fmt::format("the module has no kernel '{}', expected one of {}", name,
                                   fmt::join(names, ", ")));
  return module.lookupSymbol<func::FuncOp>(name.empty() ? names.front() : name);
}

Kernel signatureOf(func::FuncOp function) {
  if (!function->hasAttr(core::kKernelAttr))
    refuse(function, "it is not marked tile.kernel");
  auto face = std::make_shared<TracedKernel>();
  FaceReader(function).read(*face);
  Kernel kernel((std::shared_ptr<const TracedKernel>(std::move(face))));
  addInPlace(kernel, function);
  return kernel;
}

Kernel kernelOf(func::FuncOp function) {
  auto traced = std::make_shared<TracedKernel>();
  traced->context = ditron::detail::makeContext();
  traced->context->loadDialect<TaskDialect>();
  traced->module = moduleWith(function, traced->context.get());
  func::FuncOp own = *traced->module->getOps<func::FuncOp>().begin();
  if (device::isPlaced(own) || !own.front().getOps<device::InboxOp>().empty())
    writeVerbs(*traced, function);
  FaceReader(*traced->meaning().getOps<func::FuncOp>().begin()).read(*traced);
  Kernel kernel((std::shared_ptr<const TracedKernel>(std::move(traced))));
  addInPlace(kernel, function);
  return kernel;
}

func::FuncOp addFunction(const Kernel &kernel, ModuleOp module) {
  const TracedKernel &traced = kernel.traced();
  std::string text;
  {
    std::lock_guard own(traced.compiling);
    text = textOf(moduleOf(traced));
  }
  OwningOpRef<ModuleOp> copy = parseSourceString<ModuleOp>(text, module.getContext());
  if (!copy)
    throw InternalError("the text of a traced kernel cannot be parsed");
  func::FuncOp function = *copy->getOps<func::FuncOp>().begin();
  SmallVector<Attribute> pairs;
  Builder b(module.getContext());
  auto count = static_cast<int64_t>(kernel.parameters().size());
  for (int64_t output = 0; output < count; ++output)
    for (int64_t input = 0; input < count; ++input)
      if (kernel.isInPlace(size_t(output), size_t(input)))
        pairs.push_back(b.getDenseI64ArrayAttr({output, input}));
  if (!pairs.empty())
    function->setAttr(kInPlaceAttr, b.getArrayAttr(pairs));
  function->remove();
  SymbolTable(module).insert(function);
  return function;
}

} // namespace ditron::task
