// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lang/Distribute.h"
#include "ditron/core/Place.h"
#include "ditron/device/LowerInboxes.h"
#include "ditron/device/Placement.h"
#include "ditron/lang/Trace.h"
#include "ditron/support/MeshAxes.h"
#include "mlir/Parser/Parser.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace ditron {
namespace {

/// What a placement is called in the language.
std::string nameOf(const Placement &placement) {
  switch (placement.kind) {
  case Placement::Kind::gathered:
    return fmt::format("gathered({})", placement.dim);
  case Placement::Kind::reduceScattered:
    return fmt::format("reduceScattered({})", placement.dim);
  case Placement::Kind::exchanged:
    return fmt::format("exchanged(\"{}\")", placement.counts);
  case Placement::Kind::allReduced:
    break;
  }
  return "allReduced()";
}

device::PlacementKind kindOf(Placement::Kind kind) {
  switch (kind) {
  case Placement::Kind::gathered:
    return device::PlacementKind::gathered;
  case Placement::Kind::reduceScattered:
    return device::PlacementKind::reduceScattered;
  case Placement::Kind::exchanged:
    return device::PlacementKind::exchanged;
  case Placement::Kind::allReduced:
    break;
  }
  return device::PlacementKind::allReduced;
}

/// Places arguments of one kernel.
class Distributor {
public:
  Distributor(std::string name, const Signature &signature, Location where)
      : name_(std::move(name)), signature_(signature), where_(where) {}

  /// A copy of the kernel in a context of its own.
  void copy(const TracedKernel &kernel) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    {
      std::lock_guard own(kernel.compiling);
      kernel.module.get()->print(stream, OpPrintingFlags().enableDebugInfo());
    }
    result_->parameters = kernel.parameters;
    result_->context = detail::makeContext();
    result_->context->printOpOnDiagnostic(false);
    result_->module = parseSourceString<ModuleOp>(text, result_->context.get());
    if (!result_->module)
      throw InternalError("the text of a traced kernel cannot be parsed");
    if (device::isOfRanks(function()))
      fail("it is a kernel of several ranks already, expected one of one device");
    function().setName(name_);
  }

  void mark(const Placements::Entry &entry) {
    unsigned number = argumentNamed(entry.argument);
    check(signature_.arguments()[number], entry);
    if (device::placementOf(function(), number))
      fail(fmt::format("'{}' is placed twice", entry.argument));
    const Placement &placement = entry.placement;
    auto engine = placement.engine == Engine::copy ? device::Engine::copy : device::Engine::core;
    auto attribute = device::PlacementAttr::get(
        result_->context.get(), kindOf(placement.kind), placement.dim, placement.commCores, engine,
        placement.chunkCount, placement.waveSize, placement.isRounded, placement.isRing,
        StringRef(placement.axis.name()), placement.counts);
    function().setArgAttr(number, device::kPlacementAttr, attribute);
  }

  /// The kernel, with the signature that its verbs give it.
  std::shared_ptr<const TracedKernel> finish() {
    std::string problems;
    ScopedDiagnosticHandler handler(result_->context.get(), [&](Diagnostic &diagnostic) {
      append(problems, diagnostic);
      return success();
    });
    result_->withVerbs = result_->module->clone();
    if (failed(device::lowerPlacements(*result_->withVerbs)) ||
        failed(device::lowerInboxes(*result_->withVerbs)))
      fail(problems.empty() ? "it cannot be placed" : problems);
    func::FuncOp kernel = *result_->withVerbs->getOps<func::FuncOp>().begin();
    auto extents = kernel->getAttrOfType<ArrayAttr>(core::kExtentsAttr);
    result_->signature = Signature(signatureText(extents), where_);
    return result_;
  }

private:
  func::FuncOp function() { return *result_->module->getOps<func::FuncOp>().begin(); }

  [[noreturn]] void fail(const std::string &problem) const {
    throw CompileError(fmt::format("distribute: {}: {}", signature_.text(), problem), where_);
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

  unsigned argumentNamed(const std::string &name) const {
    std::vector<std::string> known;
    for (const Argument &argument : signature_.arguments())
      if (known.push_back(argument.name); argument.name == name)
        return known.size() - 1;
    fail(fmt::format("there is no argument '{}': there are {}", name, fmt::join(known, ", ")));
  }

  void check(const Argument &argument, const Placements::Entry &entry) const {
    const Placement &placement = entry.placement;
    bool isExchanged = placement.kind == Placement::Kind::exchanged;
    bool isInput = isExchanged || placement.kind == Placement::Kind::gathered;
    std::string what = fmt::format("'{}' cannot be {}: it ", argument.name, nameOf(placement));
    if (argument.isScalar)
      fail(what + "is a scalar, expected a tensor");
    if (argument.isOutput == isInput)
      fail(what +
           (isInput ? "is an output, expected an input" : "is an input, expected an output"));
    int rank = static_cast<int>(argument.dims.size());
    bool takesDim = placement.kind != Placement::Kind::allReduced;
    if (takesDim && (placement.dim < 0 || placement.dim >= rank))
      fail(fmt::format("{}has {} dimensions, expected one of 0 to {}", what, rank, rank - 1));
    if (placement.axis != Mesh::world && !isAxisName(placement.axis.name()))
      fail(what + "lives along an axis of the mesh whose name is none: expected a letter, then "
                  "letters, digits or _, at most 15 of them");
    if (placement.commCores < 0)
      fail(fmt::format("'{}' is moved by {} cores, expected 0 or more", argument.name,
                       placement.commCores));
    if (placement.chunkCount < 1)
      fail(fmt::format("'{}' moves in {} chunks, expected 1 or more", argument.name,
                       placement.chunkCount));
    bool isChunked = !isInput && placement.engine == Engine::copy;
    if (placement.chunkCount > 1 && !isChunked)
      fail(fmt::format("{}moves in {} chunks, expected 1, or a sum on Engine::copy", what,
                       placement.chunkCount));
    bool hasWaves = isChunked && placement.kind == Placement::Kind::allReduced;
    if (placement.waveSize < 0 || (placement.waveSize > 0 && !hasWaves))
      fail(fmt::format("{}is computed in waves of {} tiles, expected 0, or more and an all-reduced "
                       "sum on Engine::copy",
                       what, placement.waveSize));
    if (placement.isRounded && isInput)
      fail(what + "is rounded on its way, expected a sum");
    if (isExchanged)
      checkExchanged(placement, what);
    if (placement.isRing && (isExchanged || !isInput))
      fail(what + "goes round a ring, expected a gathered input");
  }

  void checkExchanged(const Placement &placement, const std::string &what) const {
    if (!signature_.arguments()[argumentNamed(placement.counts)].dims.size())
      fail(what + "is exchanged by a scalar, expected an input of i32 with one dimension");
    if (placement.engine != Engine::core)
      fail(what + "is moved by copy engines, which know no counts: expected cores");
  }

  /// The signature with the extents of the kernel that has the verbs.
  std::string signatureText(ArrayAttr extents) const {
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
          .push_back(argument.isScalar
                         ? argument.name
                         : fmt::format("{}[{}]", argument.name, fmt::join(dims, ",")));
    }
    return fmt::format("{}({}) -> {}", name_, fmt::join(inputs, ", "), fmt::join(outputs, ", "));
  }

  std::string name_;
  const Signature &signature_;
  Location where_;
  std::shared_ptr<TracedKernel> result_ = std::make_shared<TracedKernel>();
};

} // namespace

Kernel distribute(const Kernel &kernel, const Placements &placements, Location where) {
  return distribute(kernel.name(), kernel, placements, where);
}

Kernel distribute(const std::string &name, const Kernel &kernel, const Placements &placements,
                  Location where) {
  Distributor distributor(name, kernel.signature(), where);
  distributor.copy(kernel.traced());
  for (const Placements::Entry &entry : placements.entries())
    distributor.mark(entry);
  Kernel result = kernel;
  result.traced_ = distributor.finish();
  // An argument that other ranks read or write is nobody's to overwrite in place.
  result.inPlace_.clear();
  return result;
}

} // namespace ditron
