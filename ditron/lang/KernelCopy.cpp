// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lang/KernelCopy.h"
#include "ditron/core/Place.h"
#include "ditron/device/LowerInboxes.h"
#include "ditron/device/Placement.h"
#include "mlir/Parser/Parser.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace ditron::detail {

KernelCopy::KernelCopy(const Kernel &kernel, std::string name, const char *verb, Location where)
    : name_(std::move(name)), verb_(verb), signature_(kernel.signature()), where_(where) {
  const TracedKernel &traced = kernel.traced();
  std::string text;
  llvm::raw_string_ostream stream(text);
  {
    std::lock_guard own(traced.compiling);
    traced.module.get()->print(stream, OpPrintingFlags().enableDebugInfo());
  }
  result_->parameters = traced.parameters;
  result_->context = makeContext();
  result_->context->printOpOnDiagnostic(false);
  result_->module = parseSourceString<ModuleOp>(text, result_->context.get());
  if (!result_->module)
    throw InternalError("the text of a traced kernel cannot be parsed");
  function().setName(name_);
}

func::FuncOp KernelCopy::function() { return *module().getOps<func::FuncOp>().begin(); }

void KernelCopy::fail(const std::string &problem) const {
  throw CompileError(fmt::format("{}: {}: {}", verb_, signature_.text(), problem), where_);
}

static void append(std::string &text, Diagnostic &diagnostic) {
  if (!text.empty())
    text += "\n";
  if (std::string place = core::placeOf(diagnostic.getLocation()).text(); !place.empty())
    text += place + ": ";
  text += diagnostic.str();
  for (Diagnostic &note : diagnostic.getNotes())
    append(text, note);
}

void KernelCopy::run(const std::function<LogicalResult()> &pass, const char *otherwise) {
  std::string problems;
  ScopedDiagnosticHandler handler(result_->context.get(), [&](Diagnostic &diagnostic) {
    append(problems, diagnostic);
    return success();
  });
  if (failed(pass()))
    fail(problems.empty() ? otherwise : problems);
}

std::shared_ptr<const TracedKernel> KernelCopy::finish() {
  bool hasInboxes = !function().front().getOps<device::InboxOp>().empty();
  func::FuncOp kernel = function();
  if (device::isPlaced(kernel) || hasInboxes) {
    result_->withVerbs = module().clone();
    ModuleOp copy = *result_->withVerbs;
    run(
        [&] {
          return success(succeeded(device::lowerPlacements(copy)) &&
                         succeeded(device::lowerInboxes(copy)));
        },
        "it cannot be placed");
    kernel = *copy.getOps<func::FuncOp>().begin();
  }
  auto extents = kernel->getAttrOfType<ArrayAttr>(core::kExtentsAttr);
  result_->signature = Signature(signatureText(extents), where_);
  return result_;
}

/// The signature with the extents of the kernel that has the verbs.
std::string KernelCopy::signatureText(ArrayAttr extents) const {
  std::vector<std::string> inputs, outputs;
  size_t number = 0;
  for (bool isAbsent : signature_.isAbsent()) {
    if (isAbsent) {
      inputs.emplace_back("-");
      continue;
    }
    const Argument &argument = signature_.arguments()[number];
    std::vector<std::string> dims;
    for (auto dim : cast<ArrayAttr>(extents[number++]).getAsValueRange<StringAttr>())
      dims.push_back(dim.str());
    (argument.isOutput ? outputs : inputs)
        .push_back(argument.isScalar ? argument.name
                                     : fmt::format("{}[{}]", argument.name, fmt::join(dims, ",")));
  }
  return fmt::format("{}({}) -> {}", name_, fmt::join(inputs, ", "), fmt::join(outputs, ", "));
}

} // namespace ditron::detail
