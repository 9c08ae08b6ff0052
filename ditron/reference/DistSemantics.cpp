// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dist: what ranks and cores exchange.
//
// Unless the puts are to be late, a put is complete when it is executed, which is one of the
// behaviours that the memory model allows; the observer is told that it may also happen later.
#include "ditron/device/Order.h"
#include "ditron/device/Scope.h"
#include "ditron/reference/Semantics.h"
#include "ditron/support/Error.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron::reference {
namespace {

using device::NotifyMode;

//===-- Who am I ------------------------------------------------------------------------------===//

/// The ranks along an axis: all of them, or those of the mesh.
MeshAxes::Line lineOf(CoreMachine &core, llvm::StringRef axis) {
  const World &world = core.world();
  if (axis == device::MeshAxis::world)
    return {1, world.ranks};
  std::optional<MeshAxes::Line> line = world.mesh.find(std::string_view(axis));
  if (!line)
    throw CompileError(
        fmt::format("axis '{}' is none of the mesh {}", axis.str(), world.mesh.text()));
  return *line;
}

void addPlaces(Semantics &semantics) {
  semantics.addPure<device::RankOp>([](CoreMachine &core, device::RankOp op) {
    return lineOf(core, op.getAxis()).placeOf(core.rank());
  });
  semantics.addPure<device::NumRanksOp>(
      [](CoreMachine &core, device::NumRanksOp op) { return lineOf(core, op.getAxis()).extent; });
  semantics.addPure<device::RankAtOp>([](CoreMachine &core, device::RankAtOp op) {
    return lineOf(core, op.getAxis()).rankAt(core.rank(), core.integer(op.getPlace()));
  });
  semantics.addPure<device::CoreOp>(
      [](CoreMachine &core, device::CoreOp) { return core.core() - core.role().first; });
  semantics.addPure<device::NumCoresOp>(
      [](CoreMachine &core, device::NumCoresOp) { return core.role().count; });
}

//===-- Symmetric memory ----------------------------------------------------------------------===//

/// The rank that a verb names.
int64_t peerOf(CoreMachine &core, mlir::Value peer) {
  int64_t rank = core.integer(peer);
  if (rank < 0 || rank >= core.world().ranks)
    throw CompileError(fmt::format("names rank {} of {} ranks", rank, core.world().ranks));
  return rank;
}

/// The peer's instance of memory that is symmetric.
View viewOn(CoreMachine &core, mlir::Value mine, mlir::Value peer) {
  View theirs = core.get<View>(mine);
  if (!theirs.memory->symmetric)
    throw CompileError(fmt::format("names the instance of another rank of '{}', which is not "
                                   "symmetric memory",
                                   theirs.memory->name));
  theirs.memory = theirs.memory->symmetric->instances[peerOf(core, peer)];
  return theirs;
}

void addSymmetric(Semantics &semantics) {
  semantics.addPure<device::SymmetricOp>([](CoreMachine &core, device::SymmetricOp op) {
    return core.world().symmetric(op, core.rank(), core.launch(), core.integers(op.getExtents()));
  });
  semantics.addPure<device::SignalsOp>([](CoreMachine &core, device::SignalsOp op) {
    return core.world().signals(op, core.rank(), core.launch(), core.integers(op.getExtents()));
  });
}

//===-- Movement and order --------------------------------------------------------------------===//

void put(CoreMachine &core, mlir::Value from, mlir::Value to, mlir::Value peer) {
  const View &source = core.get<View>(from);
  View destination = viewOn(core, to, peer);
  checkCopy(source, destination);
  core.observe(Action::Kind::putSource, &source);
  core.put(source, destination);
  core.observe(Action::Kind::putTarget, &destination);
}

void get(CoreMachine &core, device::GetOp op) {
  View source = viewOn(core, op.getSource(), op.getPeer());
  const View &destination = core.get<View>(op.getDestination());
  copyChunk(source, destination);
  core.observe(Action::Kind::read, &source);
  core.observe(Action::Kind::write, &destination);
}

/// A signal that is added to is not set, and the other way round; subtract and store go with both.
void checkMode(Counter &counter, NotifyMode mode, const std::string &what) {
  if (mode != NotifyMode::add && mode != NotifyMode::set)
    return;
  if (counter.mode && counter.mode != mode)
    throw CompileError(fmt::format(
        "notifies {} by '{}', but {} did by '{}': a signal is notified in one mode", what,
        std::string_view(stringifyNotifyMode(mode)), describe(*counter.notifiedAt),
        std::string_view(stringifyNotifyMode(*counter.mode))));
  counter.mode = mode;
}

/// dist.notify, and the second half of dist.put_notify.
template <class Op> void notify(CoreMachine &core, Op op) {
  Signals signals = core.get<Signals>(op.getSignals());
  if (mlir::Value peer = op.getPeer())
    signals.rank = peerOf(core, peer);
  Extents indices = core.integers(op.getIndices());
  int64_t value = core.integer(op.getValue());
  Counter &counter = counterAt(signals, indices);
  NotifyMode mode = op.getMode();
  if (value < 0)
    throw CompileError(
        fmt::format("changes {} by {}: counters only grow", describe(signals, indices), value));
  auto amount = static_cast<uint64_t>(value);
  if (mode == NotifyMode::subtract && amount > counter.value && !core.world().waitsPass)
    throw CompileError(fmt::format("subtracts {} from {}, which is {}: a counter is never negative",
                                   amount, describe(signals, indices), counter.value));
  checkMode(counter, mode, describe(signals, indices));
  counter.shrank |= mode == NotifyMode::subtract || mode == NotifyMode::store;
  if (mode == NotifyMode::add)
    counter.added += amount;
  core.release(counter, amount, mode, device::formOf(op).isRelaxed);
}

void wait(CoreMachine &core, device::WaitOp op) {
  const Signals &signals = core.get<Signals>(op.getSignals());
  Extents indices = core.integers(op.getIndices());
  Counter &counter = counterAt(signals, indices);
  auto expected = static_cast<uint64_t>(std::max<int64_t>(core.integer(op.getValue()), 0));
  if (!counter.awaitedAt || expected > counter.awaited) {
    counter.awaited = expected;
    counter.awaitedAt = op.getLoc();
  }
  counter.shrank |= op.getTake();
  bool exact = op.getTest() == device::WaitTest::exactly;
  core.waitFor({describe(signals, indices), &counter, expected, exact, op.getTake()});
}

void barrier(CoreMachine &core, device::BarrierOp op) {
  const Role &role = core.role();
  bool acrossRanks = op.getScope() == device::BarrierScope::ranks;
  Barrier &barrier = core.world().barrier(
      core.launch(), acrossRanks ? std::nullopt : std::optional(core.rank()), role.op, role.first);
  if (barrier.cores == 0) {
    barrier.cores = role.count;
    barrier.firstRank = core.rank();
  }
  if (barrier.cores != role.count)
    throw CompileError(fmt::format("is among {} cores on rank {} but {} on rank {}", barrier.cores,
                                   barrier.firstRank, role.count, core.rank()));
  int64_t participants = barrier.cores * (acrossRanks ? core.world().ranks : 1);
  uint64_t expected = core.arrive(barrier) * static_cast<uint64_t>(participants);
  core.release(barrier.arrivals, 1, NotifyMode::add);
  core.waitFor({fmt::format("a barrier of {} cores", participants), &barrier.arrivals, expected});
}

void addMovement(Semantics &semantics) {
  semantics.add<device::PutOp>([](CoreMachine &core, device::PutOp op) {
    put(core, op.getSource(), op.getDestination(), op.getPeer());
  });
  semantics.add<device::PutNotifyOp>([](CoreMachine &core, device::PutNotifyOp op) {
    put(core, op.getSource(), op.getDestination(), op.getPeer());
    notify(core, op);
  });
  semantics.add<device::GetOp>(get);
  semantics.add<device::NotifyOp>(notify<device::NotifyOp>);
  semantics.add<device::WaitOp>(wait);
  semantics.add<device::BarrierOp>(barrier);
  semantics.add<device::FenceOp>([](CoreMachine &core, device::FenceOp) {
    core.completePuts();
    core.observe(Action::Kind::fence);
  });
  semantics.add<device::QuietOp>([](CoreMachine &core, device::QuietOp) {
    core.completePuts();
    core.observe(Action::Kind::quiet);
  });
}

//===-- Work ----------------------------------------------------------------------------------===//

void runOnCopyEngine(CoreMachine &core, device::RoleOp op) {
  auto once = [mine = core.isCopyEngine()](CoreMachine &, const Values &) mutable {
    return std::exchange(mine, false);
  };
  core.enter(op.getBody().front(), once, {}, Role{op.getName().str(), op, core.world().cores, 1});
}

void runRole(CoreMachine &core, device::RoleOp op) {
  const Role &outer = core.role();
  if (op.getEngine() == device::Engine::copy)
    return runOnCopyEngine(core, op);
  int64_t first = core.integer(op.getFirst()), count = core.integer(op.getCount());
  std::string_view name = op.getName();
  if (first < 0 || count < 0 || count > outer.count - first)
    throw CompileError(fmt::format("'{}' takes {} cores from {} on, but there are {}", name, count,
                                   first, outer.count));
  int64_t number = core.core() - outer.first;
  bool mine = number >= first && number < first + count;
  auto once = [mine](CoreMachine &, const Values &) mutable { return std::exchange(mine, false); };
  std::string path =
      outer.name.empty() ? std::string(name) : fmt::format("{}/{}", outer.name, name);
  core.enter(op.getBody().front(), once, {}, Role{path, op, outer.first + first, count});
}

/// A grid of up to 4 dimensions as device/Order.h sees it: the last dimension is its columns, the
/// one before its rows, the leading ones are flattened into its batch.
struct TileGrid {
  Extents extents;
  device::Grid<int64_t> grid;

  TileGrid(CoreMachine &core, device::TilesOp op) : extents(core.integers(op.getExtents())) {
    llvm::ArrayRef<int64_t> all = extents;
    for (int64_t extent : extents)
      if (extent < 0)
        throw CompileError(fmt::format("deals a grid of [{}] tiles", fmt::join(extents, ", ")));
    bool hasRows = all.size() >= 2;
    int64_t rows = hasRows ? all[all.size() - 2] : 1, height = op.getHeight();
    int64_t batch = numElements(all.drop_back(std::min<size_t>(all.size(), 2)));
    int64_t elements = op.getElements() && hasRows ? core.integer(op.getElements()) : rows * height;
    bool byBatch = op.getOrder().getSharded() == device::ShardedAxis::batch;
    grid = {batch,
            rows,
            all.back(),
            height,
            elements,
            byBatch ? device::Sharded::batch : device::Sharded::rows,
            op.getOrder().getRounds()};
    if (rows != (elements + height - 1) / height)
      throw CompileError(fmt::format("has {} rows of tiles, but {} elements, {} in a tile, make {}",
                                     rows, elements, height, (elements + height - 1) / height));
  }

  int64_t size() const { return numElements(extents); }

  /// Coordinates of a tile, one for each dimension.
  Values coordinates(const device::TileIndex<int64_t> &tile) const {
    Values coords(extents.size());
    int64_t batch = tile.batch;
    for (int d = static_cast<int>(extents.size()) - 1; d >= 0; --d) {
      size_t fromEnd = extents.size() - 1 - d;
      coords[d] = fromEnd == 0 ? tile.col : fromEnd == 1 ? tile.row : batch % extents[d];
      if (fromEnd >= 2)
        batch /= extents[d];
    }
    return coords;
  }
};

void runTiles(CoreMachine &core, device::TilesOp op) {
  TileGrid tiles(core, op);
  MeshAxes::Line line = lineOf(core, op.getOrder().getAxis());
  device::Place<int64_t> place{line.placeOf(core.rank()), line.extent};
  const auto *order = device::findOrder<int64_t>(std::string_view(op.getOrder().getName()));
  int64_t group = op.getOrder().getParameter();
  bool isRange = static_cast<bool>(op.getFirst());
  int64_t first = isRange ? core.integer(op.getFirst()) : core.core() - core.role().first;
  int64_t cores = isRange ? 1 : core.role().count;
  int64_t end = isRange ? core.integer(op.getEnd()) : tiles.size();
  if (first < 0)
    throw CompileError(fmt::format("begins with tile {}, expected 0 or more", first));
  if (first < end && end > tiles.size())
    throw CompileError(fmt::format("ends with tile {}, but the grid has {}", end, tiles.size()));
  auto again = [=, next = first](CoreMachine &core, const Values &) mutable {
    if (next >= end)
      return false;
    device::TileIndex<int64_t> tile = order->index(next, tiles.grid, place, group);
    core.set(op.getBody().getArguments(), tiles.coordinates(tile));
    next += cores;
    return true;
  };
  core.enter(op.getBody().front(), again);
}

} // namespace

void addDist(Semantics &semantics) {
  addPlaces(semantics);
  addSymmetric(semantics);
  addMovement(semantics);
  semantics.add<device::RoleOp>(runRole);
  semantics.add<device::TilesOp>(runTiles);
  semantics.add<device::MarkTileOp>([](CoreMachine &, device::MarkTileOp) {});
}

} // namespace ditron::reference
