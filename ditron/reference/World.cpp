// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/reference/World.h"
#include "ditron/core/Place.h"
#include "ditron/runtime/Memory.h"
#include "ditron/support/Error.h"
#include "ditron/support/Sizes.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron::reference {

using llvm::ArrayRef;

std::string describe(mlir::Location location) {
  std::string text = core::placeOf(location).text();
  return text.empty() ? "unknown location" : text;
}

World::World(int64_t ranks, int64_t cores, int64_t nodes, Observer observer, const MeshAxes &axes)
    : ranks(ranks), cores(cores), nodes(nodes),
      mesh(axes.empty() ? MeshAxes::ofNodes(ranks, nodes) : axes), observer_(std::move(observer)) {
  if (ranks < 1 || cores < 1 || nodes < 1)
    throw CompileError(fmt::format("a run needs 1 or more ranks, cores and nodes, found {}, {}, {}",
                                   ranks, cores, nodes));
  if (ranks % nodes)
    throw CompileError(fmt::format("{} ranks do not divide into {} nodes", ranks, nodes));
  if (mesh.ranks() != ranks)
    throw CompileError(fmt::format("the mesh {} is not of {} ranks", mesh.text(), ranks));
}

namespace {

/// How many elements these extents have; CompileError where that is no number of elements.
int64_t checkedSize(std::string_view what, ArrayRef<int64_t> extents) {
  std::optional<int64_t> size = checkedProduct(extents);
  if (!size || *size > INT64_MAX / 8)
    throw CompileError(
        fmt::format("{} has extents [{}], expected none below 0 and a product that fits memory",
                    what, fmt::join(extents, ", ")));
  return *size;
}

void checkSameExtents(std::string_view what, ArrayRef<int64_t> first, int64_t firstRank,
                      ArrayRef<int64_t> other, int64_t otherRank) {
  if (first != other)
    throw CompileError(fmt::format("{} has extents [{}] on rank {} but [{}] on rank {}: every rank "
                                   "must give the same",
                                   what, fmt::join(first, ", "), firstRank, fmt::join(other, ", "),
                                   otherRank));
}

std::shared_ptr<Memory> makeInstance(SymmetricBuffer &buffer, DType type, int64_t rank,
                                     int64_t elements) {
  auto memory = std::make_shared<Memory>();
  memory->name = buffer.name;
  memory->rank = rank;
  memory->type = type;
  memory->symmetric = &buffer;
  memory->owned.assign(elements * byteSize(type), std::byte(0xFF));
  memory->data = memory->owned.data();
  return memory;
}

} // namespace

View World::symmetric(device::SymmetricOp op, int64_t rank, int64_t launch,
                      ArrayRef<int64_t> extents) {
  auto pages = op->getAttrOfType<mlir::IntegerAttr>(kPagesAttr);
  int64_t pageCount = pages ? pages.getInt() : 2;
  if (pageCount < 1)
    throw CompileError(fmt::format("'{}' lies in {} pages ({}), expected 1 or more",
                                   std::string_view(op.getName()), pageCount,
                                   std::string_view(kPagesAttr)));
  SymmetricBuffer &buffer = buffers_[{op, launch % pageCount}];
  std::string what = fmt::format("'{}'", std::string_view(op.getName()));
  if (buffer.instances.empty()) {
    int64_t elements = checkedSize(what, extents);
    buffer.name = op.getName();
    buffer.extents = Extents(extents);
    buffer.firstRank = rank;
    DType type = elementType(op.getBuffer().getType());
    runtime::requireMemory(saturatingProduct(elements * byteSize(type), ranks),
                           fmt::format("symmetric buffer {} of [{}] on {} ranks", what,
                                       fmt::join(extents, ", "), ranks));
    for (int64_t peer = 0; peer < ranks; ++peer)
      buffer.instances.push_back(makeInstance(buffer, type, peer, elements));
  }
  checkSameExtents(what, buffer.extents, buffer.firstRank, extents, rank);
  return {buffer.instances[rank], 0, buffer.extents, denseStrides(buffer.extents)};
}

Signals World::signals(device::SignalsOp op, int64_t rank, int64_t launch,
                       ArrayRef<int64_t> extents) {
  std::shared_ptr<SignalArray> &array = signals_[{op, launch}];
  std::string what = fmt::format("'{}'", std::string_view(op.getName()));
  if (!array) {
    int64_t size = checkedSize(what, extents);
    runtime::requireMemory(
        saturatingProduct(size, saturatingProduct(ranks, sizeof(Counter))),
        fmt::format("signals {} of [{}] on {} ranks", what, fmt::join(extents, ", "), ranks));
    array = std::make_shared<SignalArray>();
    array->name = op.getName();
    array->launch = launch;
    array->extents = Extents(extents);
    array->firstRank = rank;
    array->counters.assign(ranks, std::vector<Counter>(size));
    signalsInOrder_.push_back(array);
  }
  checkSameExtents(what, array->extents, array->firstRank, extents, rank);
  return {array, rank};
}

Barrier &World::barrier(int64_t launch, std::optional<int64_t> rank, mlir::Operation *role,
                        int64_t first) {
  constexpr int64_t all = -1;
  // Between ranks, the cores of a role may start elsewhere on each.
  return barriers_[{launch, rank.value_or(all), role, rank ? first : all}];
}

//===-- Signals -------------------------------------------------------------------------------===//

Counter &counterAt(const Signals &signals, ArrayRef<int64_t> indices) {
  const Extents &extents = signals.array->extents;
  int64_t at = 0;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (indices[d] < 0 || indices[d] >= extents[d])
      throw CompileError(fmt::format("names {}, but '{}' has extents [{}]",
                                     describe(signals, indices), signals.array->name,
                                     fmt::join(extents, ", ")));
    at = at * extents[d] + indices[d];
  }
  return signals.array->counters[signals.rank][at];
}

std::string describe(const Signals &signals, ArrayRef<int64_t> indices) {
  return fmt::format("signal '{}'[{}] of rank {}", signals.array->name, fmt::join(indices, ", "),
                     signals.rank);
}

namespace {

/// "signal 'ready'[2, 0] of rank 1" of the counter with this row-major index.
std::string describe(const Signals &signals, int64_t index) {
  Extents indices;
  for (int64_t stride : denseStrides(signals.array->extents)) {
    indices.push_back(index / stride);
    index %= stride;
  }
  return reference::describe(signals, indices);
}

std::string describeUnconsumed(const Signals &signals, int64_t index) {
  const Counter &counter = signals.array->counters[signals.rank][index];
  std::string waits = counter.awaitedAt
                          ? fmt::format("the largest wait asks for {} ({})", counter.awaited,
                                        reference::describe(*counter.awaitedAt))
                          : "nobody waits for it";
  return fmt::format("{}: notifies add up to {} (the last at {}) but {}: in the next launch a wait "
                     "would pass early",
                     describe(signals, index), counter.added,
                     reference::describe(*counter.notifiedAt), waits);
}

} // namespace

std::string World::nameOf(const Counter &counter) const {
  for (const std::shared_ptr<SignalArray> &array : signalsInOrder_)
    for (int64_t rank = 0; rank < ranks; ++rank)
      if (const auto &counters = array->counters[rank];
          &counter >= counters.data() && &counter < counters.data() + counters.size())
        return describe(Signals{array, rank}, &counter - counters.data());
  for (const auto &[key, barrier] : barriers_)
    if (&barrier.arrivals == &counter) {
      auto [launch, rank, op, first] = key;
      auto role = mlir::dyn_cast_or_null<device::RoleOp>(op);
      return fmt::format("the barrier{} {}",
                         role ? fmt::format(" of role '{}'", std::string_view(role.getName())) : "",
                         rank < 0 ? "of all ranks" : fmt::format("on rank {}", rank));
    }
  throw InternalError("a counter that belongs to no signal and no barrier");
}

std::vector<std::string> World::unconsumedSignals() const {
  std::vector<std::string> found;
  for (const std::shared_ptr<SignalArray> &array : signalsInOrder_)
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (size_t i = 0; i < array->counters[rank].size(); ++i) {
        const Counter &counter = array->counters[rank][i];
        if (!counter.shrank && counter.added > counter.awaited)
          found.push_back(describeUnconsumed({array, rank}, static_cast<int64_t>(i)));
      }
  return found;
}

} // namespace ditron::reference
