// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lang/Trace.h"
#include "ditron/support/MeshAxes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <fmt/format.h>

using namespace mlir;

namespace ditron {
using namespace detail;

//===-- Who am I ------------------------------------------------------------------------------===//

/// The name of an axis, for ops: a part of the axis.
static StringRef nameOf(const Mesh &axis, Location where) {
  if (axis != Mesh::world && !isAxisName(axis.name()))
    throw CompileError("the name of an axis of the mesh is a letter, then letters, digits or _, at "
                       "most 15 of them",
                       where);
  return axis.name();
}

Index rank(Mesh axis, Location where) {
  Trace &trace = Trace::current(where);
  return trace.index(
      trace.create<device::RankOp>(where, trace.builder().getIndexType(), nameOf(axis, where)));
}
Index numRanks(Mesh axis, Location where) {
  Trace &trace = Trace::current(where);
  return trace.index(
      trace.create<device::NumRanksOp>(where, trace.builder().getIndexType(), nameOf(axis, where)));
}
Index coreId(Location where) {
  Trace &trace = Trace::current(where);
  return trace.index(trace.create<device::CoreOp>(where, trace.builder().getIndexType()));
}
Index numCores(Location where) {
  Trace &trace = Trace::current(where);
  return trace.index(trace.create<device::NumCoresOp>(where, trace.builder().getIndexType()));
}

static Index rankOf(Mesh axis, Index at, Location where) {
  Trace &trace = Trace::current(where);
  return trace.index(trace.create<device::RankAtOp>(where, trace.builder().getIndexType(),
                                                    trace.value(at, where), nameOf(axis, where)));
}

Index rankAt(Mesh axis, Index at, Location where) {
  Index all = numRanks(axis, where);
  std::string line = axis == Mesh::world ? "all ranks" : fmt::format("axis {}", axis.name());
  std::string text = fmt::format("rankAt: names place {{}} of {{}} along {}", line);
  IndexOperand place(at, where), end(all, where);
  Bool isPlace = BoolOperand(place >= IndexOperand(0, where), where) && //
                 BoolOperand(place < end, where);
  require({isPlace, where}, text, {place, end});
  return axis == Mesh::world ? at : rankOf(axis, at, where);
}

ranks::ranks(Mesh axis, Location where) : Loop(where), axis_(axis) {}

void ranks::open() {
  Trace &trace = Trace::current(where());
  Index me = rank(axis_, where()), all = numRanks(axis_, where());
  auto loop = trace.create<scf::ForOp>(where(), trace.constant(0, where()),
                                       trace.value(all, where()), trace.constant(1, where()));
  opened({loop.getOperation()});
  Index step = trace.index(loop.getInductionVar());
  Index place = (IndexOperand(me, where()) + step) % IndexOperand(all, where());
  item_ = (axis_ == Mesh::world ? place : rankOf(axis_, place, where())).handle();
}

void peers::open() {
  Trace &trace = Trace::current(where());
  Index me = rank(Mesh::world, where()), all = numRanks(Mesh::world, where());
  auto loop = trace.create<scf::ForOp>(where(), trace.constant(1, where()),
                                       trace.value(all, where()), trace.constant(1, where()));
  opened({loop.getOperation()});
  Index step = trace.index(loop.getInductionVar());
  IndexOperand end(all, where());
  Index distance = way_ == Ring::next ? step : end - IndexOperand(step, where());
  item_ = ((IndexOperand(me, where()) + IndexOperand(distance, where())) % end).handle();
}

//===-- Symmetric memory ----------------------------------------------------------------------===//

void detail::checkAtTop(const char *what, Location where) {
  Operation *parent = Trace::current(where).builder().getInsertionBlock()->getParentOp();
  if (!isa<func::FuncOp>(parent))
    throw CompileError(fmt::format("{} stands in a loop, a branch or a role: every rank allocates "
                                   "it before the launch, so it stands at the top of the kernel",
                                   what),
                       where);
}

static SmallVector<Value> valuesOf(Trace &trace, ArrayRef<Index> indices, Location where) {
  SmallVector<Value> values;
  for (const Index &index : indices)
    values.push_back(trace.value(index, where));
  return values;
}

std::string detail::nameOr(const char *name, Location where) {
  if (name && *name)
    return name;
  std::string place = describe(where);
  int number = Trace::current(where).countUnnamed(place);
  return number == 1 ? place : fmt::format("{} ({})", place, number);
}

ViewData detail::symmetricBuffer(DType type, std::vector<Index> extents, const char *name,
                                 Location where) {
  Trace &trace = Trace::current(where);
  checkAtTop("symmetric", where);
  auto view = device::viewType(extents.size(), elementType(trace.context(), type),
                               device::SpaceKind::symmetric);
  return {wrap(trace.create<device::SymmetricOp>(where, view, nameOr(name, where),
                                                 valuesOf(trace, extents, where))),
          type};
}

Handle detail::symmetricSignals(std::vector<Index> extents, const char *name, Location where) {
  Trace &trace = Trace::current(where);
  checkAtTop("signals", where);
  auto type = device::SignalsType::get(trace.context(), extents.size());
  return wrap(trace.create<device::SignalsOp>(where, type, nameOr(name, where),
                                              valuesOf(trace, extents, where)));
}

//===-- Verbs ---------------------------------------------------------------------------------===//

static SmallVector<Value> indicesOf(Trace &trace, const SignalData &signal, Location where) {
  return valuesOf(trace, ArrayRef(signal.at).take_front(signal.rank), where);
}

void detail::notifySignal(const SignalData &signal, bool set, IndexOperand value) {
  Trace &trace = Trace::current(value.where);
  auto mode = set ? device::NotifyMode::set : device::NotifyMode::add;
  trace.create<device::NotifyOp>(value.where, unwrap(signal.signals),
                                 indicesOf(trace, signal, value.where), unwrap(signal.peer), mode,
                                 trace.value(value.value, value.where));
}

void detail::waitSignal(const SignalData &signal, IndexOperand value) {
  Trace &trace = Trace::current(value.where);
  trace.create<device::WaitOp>(value.where, unwrap(signal.signals),
                               indicesOf(trace, signal, value.where),
                               trace.value(value.value, value.where));
}

ChunkData detail::chunkOf(const ViewData &view) { return {view.view, view.peer}; }

ChunkData detail::chunkOf(const TileRefData &ref) {
  Trace &trace = Trace::current(ref.where);
  Value view = unwrap(ref.view);
  auto type = cast<MemRefType>(view.getType());
  SmallVector<Value> coords;
  for (int d = 0; d < ref.numCoords; ++d)
    coords.push_back(unwrap(ref.coords[d]));
  auto result = device::viewType(ref.rank, type.getElementType(), device::spaceOf(type));
  return {wrap(trace.create<core::ChunkOp>(ref.where, result, view, coords,
                                           ArrayRef(ref.shape).take_front(ref.rank))),
          ref.peer};
}

static void checkChunks(const char *verb, Value source, Value destination, Location where) {
  auto from = cast<MemRefType>(source.getType()), to = cast<MemRefType>(destination.getType());
  if (from.getElementType() != to.getElementType())
    throw CompileError(fmt::format("{}: the source is of {} but the destination of {}", verb,
                                   name(dtypeOf(from.getElementType())),
                                   name(dtypeOf(to.getElementType()))),
                       where);
  if (from.getRank() != to.getRank())
    throw CompileError(fmt::format("{}: the source has {} dimensions but the destination has {}",
                                   verb, from.getRank(), to.getRank()),
                       where);
}

/// The peer of a put's destination or a get's source; the other side is this rank's memory.
static Value peerOf(const char *verb, const char *farSide, const ChunkData &far,
                    const char *nearSide, const ChunkData &near, Location where) {
  if (!far.peer)
    throw CompileError(
        fmt::format("{}: the {} is not a peer's: name it by on(peer)", verb, farSide), where);
  if (near.peer)
    throw CompileError(
        fmt::format("{}: the {} is a peer's, expected memory of this rank", verb, nearSide), where);
  return unwrap(far.peer);
}

void detail::putChunk(const ChunkData &source, const ChunkData &destination, Location where) {
  Value from = unwrap(source.view), to = unwrap(destination.view);
  checkChunks("put", from, to, where);
  Value peer = peerOf("put", "destination", destination, "source", source, where);
  Trace::current(where).create<device::PutOp>(where, from, to, peer);
}

void detail::getChunk(const ChunkData &source, const ChunkData &destination, Location where) {
  Value from = unwrap(source.view), to = unwrap(destination.view);
  checkChunks("get", from, to, where);
  Value peer = peerOf("get", "source", source, "destination", destination, where);
  Trace::current(where).create<device::GetOp>(where, from, peer, to);
}

void fence(Location where) { Trace::current(where).create<device::FenceOp>(where); }
void quiet(Location where) { Trace::current(where).create<device::QuietOp>(where); }
void barrier(Location where) {
  Trace::current(where).create<device::BarrierOp>(where, device::BarrierScope::cores);
}
void barrierAll(Location where) {
  Trace::current(where).create<device::BarrierOp>(where, device::BarrierScope::ranks);
}

void waive(const char *name, const char *reason, const std::function<void()> &body,
           Location where) {
  Trace &trace = Trace::current(where);
  if (!name || !*name || !reason || !*reason)
    throw CompileError("a waiver needs a name and a reason: whoever reads the verdict is told both",
                       where);
  checkBody(body, "waive", where);
  trace.pushWaiver(name, reason);
  struct End {
    Trace &trace;
    ~End() { trace.popWaiver(); }
  } end{trace}; // of a body that throws, too, whoever catches it
  body();
}

//===-- Roles ---------------------------------------------------------------------------------===//

void Role::run(const char *name, const std::function<void()> &body, Location where) const {
  Trace &trace = Trace::current(where);
  checkBody(body, "role", where);
  Value first = trace.value(first_, where), count = trace.value(count_, where);
  auto role = trace.create<device::RoleOp>(where, trace.builder().getStringAttr(name), first, count,
                                           static_cast<device::Engine>(engine_));
  traceInto(trace, &role.getBody().emplaceBlock(), body);
}

std::vector<Role> detail::splitCores(const std::vector<int> &sizes, Location where) {
  for (int size : sizes)
    if (size < 1)
      throw CompileError(fmt::format("splitCores: a part of {} cores, expected 1 or more", size),
                         where);
  Index total = numCores(where);
  std::vector<Role> roles;
  Index first = 0;
  int partsAfter = static_cast<int>(sizes.size());
  for (int size : sizes) { // leaves at least one core for each of the parts after it
    Index room = IndexOperand(total, where) - IndexOperand(first + partsAfter, where);
    Index count = max({min({size, where}, {room, where}), where}, {1, where});
    roles.emplace_back(first, count);
    first =
        min({IndexOperand(first, where) + count, where}, {IndexOperand(total, where) - 1, where});
    --partsAfter;
  }
  roles.emplace_back(first, IndexOperand(total, where) - first);
  return roles;
}

} // namespace ditron
