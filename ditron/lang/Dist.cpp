// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lang/Trace.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <fmt/format.h>

using namespace mlir;

namespace ditron {
using namespace detail;

//===-- Who am I ------------------------------------------------------------------------------===//

Index rank(Mesh axis, Location where) {
  Trace &trace = Trace::current(where);
  return trace.index(trace.create<device::RankOp>(where, trace.builder().getIndexType(),
                                                  static_cast<device::MeshAxis>(axis)));
}
Index numRanks(Mesh axis, Location where) {
  Trace &trace = Trace::current(where);
  return trace.index(trace.create<device::NumRanksOp>(where, trace.builder().getIndexType(),
                                                      static_cast<device::MeshAxis>(axis)));
}
Index coreId(Location where) {
  Trace &trace = Trace::current(where);
  return trace.index(trace.create<device::CoreOp>(where, trace.builder().getIndexType()));
}
Index numCores(Location where) {
  Trace &trace = Trace::current(where);
  return trace.index(trace.create<device::NumCoresOp>(where, trace.builder().getIndexType()));
}

ranks::ranks(Location where) : Loop(where) {}

void ranks::open() {
  Trace &trace = Trace::current(where());
  Index me = rank(Mesh::world, where()), all = numRanks(Mesh::world, where());
  auto loop = trace.create<scf::ForOp>(where(), trace.constant(0, where()),
                                       trace.value(all, where()), trace.constant(1, where()));
  opened({loop.getOperation()});
  Index step = trace.index(loop.getInductionVar());
  item_ = (IndexOperand(me, where()) + step) % IndexOperand(all, where());
}

//===-- Symmetric memory ----------------------------------------------------------------------===//

/// Symmetric allocations stand at the top of the kernel.
static void checkAtTop(Trace &trace, const char *what, Location where) {
  Operation *parent = trace.builder().getInsertionBlock()->getParentOp();
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

/// The name given, or the place of the declaration.
static std::string nameOr(const char *name, Location where) {
  return *name ? std::string(name) : describe(where);
}

ViewData detail::symmetricBuffer(DType type, std::vector<Index> extents, const char *name,
                                 Location where) {
  Trace &trace = Trace::current(where);
  checkAtTop(trace, "symmetric", where);
  auto view = device::viewType(extents.size(), elementType(trace.context(), type),
                               device::SpaceKind::symmetric);
  return {wrap(trace.create<device::SymmetricOp>(where, view, nameOr(name, where),
                                                 valuesOf(trace, extents, where))),
          type};
}

Handle detail::symmetricSignals(std::vector<Index> extents, const char *name, Location where) {
  Trace &trace = Trace::current(where);
  checkAtTop(trace, "signals", where);
  auto type = device::SignalsType::get(trace.context(), extents.size(), /*remote=*/false);
  return wrap(trace.create<device::SignalsOp>(where, type, nameOr(name, where),
                                              valuesOf(trace, extents, where)));
}

Handle detail::signalsOnPeer(Handle signals, Index peer, Location where) {
  Trace &trace = Trace::current(where);
  auto own = cast<device::SignalsType>(unwrap(signals).getType());
  auto remote = device::SignalsType::get(trace.context(), own.getRank(), /*remote=*/true);
  return wrap(trace.create<device::OnOp>(where, remote, unwrap(signals), trace.value(peer, where)));
}

//===-- Verbs ---------------------------------------------------------------------------------===//

void detail::notifySignal(Handle signals, const Index *at, int count, bool set,
                          IndexOperand value) {
  Trace &trace = Trace::current(value.where);
  auto mode = set ? device::NotifyMode::set : device::NotifyMode::add;
  SmallVector<Value> indices = valuesOf(trace, ArrayRef(at, count), value.where);
  trace.create<device::NotifyOp>(value.where, unwrap(signals), indices, mode,
                                 trace.value(value.value, value.where));
}

void detail::waitSignal(Handle signals, const Index *at, int count, IndexOperand value) {
  Trace &trace = Trace::current(value.where);
  SmallVector<Value> indices = valuesOf(trace, ArrayRef(at, count), value.where);
  trace.create<device::WaitOp>(value.where, unwrap(signals), indices,
                               trace.value(value.value, value.where));
}

Handle detail::chunkOf(const ViewData &view) { return view.view; }

Handle detail::chunkOf(const TileRefData &ref) {
  Trace &trace = Trace::current(ref.where);
  Value view = unwrap(ref.view);
  auto type = cast<MemRefType>(view.getType());
  SmallVector<Value> coords;
  for (int d = 0; d < ref.numCoords; ++d)
    coords.push_back(unwrap(ref.coords[d]));
  auto result = device::viewType(ref.rank, type.getElementType(), device::spaceOf(type));
  return wrap(trace.create<core::ChunkOp>(ref.where, result, view, coords,
                                          ArrayRef(ref.shape).take_front(ref.rank)));
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

void detail::putChunk(const Handle &source, const Handle &destination, Location where) {
  Value from = unwrap(source), to = unwrap(destination);
  checkChunks("put", from, to, where);
  if (device::spaceOf(to.getType()) != device::SpaceKind::remote)
    throw CompileError("put: the destination is not a peer's: name it by on(peer)", where);
  Trace::current(where).create<device::PutOp>(where, from, to);
}

void detail::getChunk(const Handle &source, const Handle &destination, Location where) {
  Value from = unwrap(source), to = unwrap(destination);
  checkChunks("get", from, to, where);
  if (device::spaceOf(from.getType()) != device::SpaceKind::remote)
    throw CompileError("get: the source is not a peer's: name it by on(peer)", where);
  Trace::current(where).create<device::GetOp>(where, from, to);
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
  if (!*name || !*reason)
    throw CompileError("a waiver needs a name and a reason: whoever reads the verdict is told both",
                       where);
  trace.pushWaiver(name, reason);
  body();
  trace.popWaiver();
}

//===-- Roles ---------------------------------------------------------------------------------===//

void Role::run(const char *name, const std::function<void()> &body, Location where) const {
  Trace &trace = Trace::current(where);
  Value first = trace.value(first_, where), count = trace.value(count_, where);
  auto role = trace.create<device::RoleOp>(where, trace.builder().getStringAttr(name), first, count,
                                           device::Engine::core);
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
