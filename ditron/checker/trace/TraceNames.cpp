// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/checker/trace/TraceNames.h"
#include "ditron/checker/CheckSubject.h"
#include "ditron/device/DistOps.h"
#include "ditron/support/Error.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

using namespace mlir;

namespace ditron::checker {

//===-- Ops and their waivers -----------------------------------------------------------------===//

namespace {

std::string toString(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

/// CompileError where the attribute is not what waive() makes.
std::vector<WaiverText> waiversOf(Operation *op) {
  std::vector<WaiverText> waivers;
  Attribute given = op->getAttr(device::kWaiveAttr);
  if (!given)
    return waivers;
  auto array = dyn_cast<ArrayAttr>(given);
  for (Attribute waiver : array ? array.getValue() : llvm::ArrayRef<Attribute>(given)) {
    auto fields = dyn_cast<DictionaryAttr>(waiver);
    auto textOf = [&](const char *field) {
      auto text = fields ? fields.getAs<StringAttr>(field) : StringAttr();
      if (!text || text.empty())
        throw CompileError(
            fmt::format("{}: {} is to be [{{name = \"...\", reason = \"...\"}}], found {}",
                        reference::describe(op->getLoc()), std::string_view(device::kWaiveAttr),
                        toString(given)));
      return text.str();
    };
    waivers.push_back({textOf("name"), textOf("reason")});
  }
  return waivers;
}

Trace::Op opOf(Operation *op) {
  Trace::Op result;
  result.name = op->getName().getStringRef().str();
  op->getLoc()->walk([&](mlir::Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file)
      return WalkResult::advance();
    result.file = file.getFilename().str();
    result.line = file.getLine();
    return WalkResult::interrupt();
  });
  result.waivers = waiversOf(op);
  return result;
}

} // namespace

std::vector<std::pair<WaiverText, std::string>> waiversOn(Operation *op) {
  std::vector<std::pair<WaiverText, std::string>> waivers;
  for (WaiverText &waiver : waiversOf(op))
    waivers.emplace_back(std::move(waiver), reference::describe(op->getLoc()));
  return waivers;
}

//===-- Numbers -------------------------------------------------------------------------------===//

uint32_t TraceNames::siteOf(const reference::CoreMachine &core) {
  reference::Extents coords = core.tileCoordinates();
  return site(core.operation(), core.isDone() ? "" : core.role().name,
              {coords.begin(), coords.end()});
}

uint32_t TraceNames::site(Operation *op, const std::string &role, std::vector<int64_t> tile) {
  auto [known, isNew] = sites_.try_emplace({op, role, tile}, trace_.sites.size());
  if (isNew) {
    siteHashes_.push_back(
        llvm::hash_combine(op, llvm::hash_combine_range(tile.begin(), tile.end())));
    trace_.sites.push_back({this->op(op), this->role(role), std::move(tile)});
  }
  return known->second;
}

uint32_t TraceNames::op(Operation *op) {
  auto [known, isNew] = ops_.try_emplace(op, trace_.ops.size());
  if (isNew)
    trace_.ops.push_back(opOf(op));
  return known->second;
}

uint32_t TraceNames::role(const std::string &role) {
  auto [known, isNew] = roles_.try_emplace(role, trace_.roles.size());
  if (isNew)
    trace_.roles.push_back(role);
  return known->second;
}

uint32_t TraceNames::counter(const reference::Counter &counter, int64_t rank) {
  auto [known, isNew] = counters_.try_emplace(&counter, trace_.counters.size());
  if (isNew) {
    std::string name = world_.nameOf(counter);
    auto kind =
        name.starts_with("signal") ? Trace::Counter::Kind::signal : Trace::Counter::Kind::barrier;
    trace_.counters.push_back({name, kind, rank});
  }
  return known->second;
}

uint32_t TraceNames::footprint(const reference::View &view) {
  uint32_t memory = this->memory(*view.memory);
  std::vector<int64_t> sizes(view.sizes.begin(), view.sizes.end());
  std::vector<int64_t> strides(view.strides.begin(), view.strides.end());
  uint32_t number = trace_.footprints.add(memory, view.offset, sizes, strides,
                                          static_cast<int64_t>(byteSize(view.memory->type)));
  if (number == footprintHashes_.size())
    footprintHashes_.push_back(
        llvm::hash_combine(view.memory->name, view.memory->rank, view.offset,
                           llvm::hash_combine_range(sizes.begin(), sizes.end())));
  return number;
}

/// The argument whose memory it is: of an output in place the input. Null where it is none's.
const ArgumentPlan *TraceNames::argumentOf(const reference::Memory &memory) const {
  auto found = llvm::find_if(subject_.arguments,
                             [&](const ArgumentPlan &plan) { return plan.name == memory.name; });
  if (memory.symmetric || found == subject_.arguments.end())
    return nullptr;
  return found->inPlaceOf ? &subject_.arguments[*found->inPlaceOf] : &*found;
}

uint32_t TraceNames::memory(const reference::Memory &memory) {
  auto known = memories_.find(&memory);
  if (known != memories_.end())
    return known->second;
  const ArgumentPlan *argument = argumentOf(memory);
  auto next = static_cast<uint32_t>(trace_.memories.size());
  uint32_t number =
      argument ? arguments_.try_emplace({memory.rank, argument}, next).first->second : next;
  memories_.emplace(&memory, number);
  if (number == next) {
    bool isSymmetric = memory.symmetric != nullptr, isOutput = argument && argument->isOutput;
    trace_.memories.push_back({argument ? argument->name : memory.name, memory.rank, memory.type,
                               isSymmetric, !isSymmetric && !isOutput});
  }
  return number;
}

uint64_t TraceNames::hash(const Event &event) const {
  uint64_t object = event.isAccess() ? footprintHashes_[event.object]
                    : event.isSync() ? std::hash<std::string>()(trace_.counters[event.object].name)
                                     : 0;
  return llvm::hash_combine(static_cast<int>(event.kind), event.launch, siteHashes_[event.site],
                            object, event.value);
}

} // namespace ditron::checker
