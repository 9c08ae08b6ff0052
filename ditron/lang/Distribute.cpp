// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lang/Distribute.h"
#include "ditron/core/Memories.h"
#include "ditron/lang/KernelCopy.h"
#include "ditron/support/MeshAxes.h"
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
  Distributor(const std::string &name, const Kernel &kernel, Location where)
      : copy_(kernel, name, "distribute", where), signature_(kernel.signature()) {
    if (device::isOfRanks(copy_.function()))
      fail("it is a kernel of several ranks already, expected one of one device");
    // An argument that other ranks read or write is nobody's to overwrite in place.
    func::FuncOp function = copy_.function();
    for (unsigned number = 0; number < function.getNumArguments(); ++number)
      function.removeArgAttr(number, core::kInPlaceAttr);
  }

  void mark(const Placements::Entry &entry) {
    unsigned number = argumentNamed(entry.argument);
    check(signature_.arguments()[number], entry);
    func::FuncOp function = copy_.function();
    if (device::placementOf(function, number))
      fail(fmt::format("'{}' is placed twice", entry.argument));
    const Placement &placement = entry.placement;
    auto engine = placement.engine == Engine::copy ? device::Engine::copy : device::Engine::core;
    auto attribute = device::PlacementAttr::get(
        function.getContext(), kindOf(placement.kind), placement.dim, placement.commCores, engine,
        placement.chunkCount, placement.waveSize, placement.roundCount, placement.isRounded,
        placement.isRing, StringRef(placement.axis.name()), placement.counts);
    function.setArgAttr(number, device::kPlacementAttr, attribute);
  }

  std::shared_ptr<const TracedKernel> finish() { return copy_.finish(); }

private:
  [[noreturn]] void fail(const std::string &problem) const { copy_.fail(problem); }

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
      fail(fmt::format("{}is computed in waves of {} tiles, expected 0 (an all-reduced sum on "
                       "Engine::copy may have more)",
                       what, placement.waveSize));
    checkRounds(placement, what);
    if (placement.isRounded && isInput)
      fail(what + "is rounded on its way, expected a sum");
    if (isExchanged)
      checkExchanged(placement, what);
    if (placement.isRing && (isExchanged || !isInput))
      fail(what + "goes round a ring, expected a gathered input");
  }

  void checkRounds(const Placement &placement, const std::string &what) const {
    if (placement.roundCount < 1 ||
        (placement.roundCount > 1 && placement.kind != Placement::Kind::allReduced))
      fail(fmt::format("{}is computed in {} rounds, expected 1 (an all-reduced sum may have more)",
                       what, placement.roundCount));
    bool isHalved =
        placement.roundCount == 2 && placement.chunkCount == 2 && placement.waveSize == 0;
    if (placement.roundCount > 1 && placement.engine == Engine::copy && !isHalved)
      fail(fmt::format("{}is computed in {} rounds, {} chunks and waves of {} tiles, expected 2 "
                       "rounds on Engine::copy in 2 chunks, without waves",
                       what, placement.roundCount, placement.chunkCount, placement.waveSize));
  }

  void checkExchanged(const Placement &placement, const std::string &what) const {
    if (!signature_.arguments()[argumentNamed(placement.counts)].dims.size())
      fail(what + "is exchanged by a scalar, expected an input of i32 with one dimension");
    if (placement.engine != Engine::core)
      fail(what + "is moved by copy engines, which know no counts: expected cores");
  }

  detail::KernelCopy copy_;
  const Signature &signature_;
};

} // namespace

Kernel distribute(const Kernel &kernel, const Placements &placements, Location where) {
  return distribute(kernel.name(), kernel, placements, where);
}

Kernel distribute(const std::string &name, const Kernel &kernel, const Placements &placements,
                  Location where) {
  Distributor distributor(name, kernel, where);
  for (const Placements::Entry &entry : placements.entries())
    distributor.mark(entry);
  Kernel result = kernel;
  result.traced_ = distributor.finish();
  result.inPlace_.clear();
  return result;
}

} // namespace ditron
