// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PlaceArguments: an argument that every rank has a part of is gathered while the kernel runs.
//
//     func @gemm(%A {dist.placement = #dist.placement<gathered dim 0>}, %B, %C) {   A[M,K], C[M,N]
//       dist.tiles (%i, %j) of (ceildiv(M, 128), %columns) order <"grouped", 8> {
//         ... tile.load %A[%i, %k] ...
//         tile.store %c, %C[%i, %j]
//       }
//     }
//  ->
//     func @gemm(%A, %B, %C) {                                                      C[R*M,N]
//       %gathered = dist.symmetric "A.gathered"(%ranks, %m, %k)
//       %ready = dist.signals "A.ready"(%ranks, ceildiv(%m, 128))
//       dist.role "gather" cores %c0 for %c1 {
//         for each peer, this rank first: for each chunk %i, %p of %A
//           dist.put chunk, %gathered[%rank, %i, %p] on %peer
//           dist.notify %ready[%rank, %i] on %peer add %c1
//       }
//       dist.role "compute" cores %c1 for %rest {
//         dist.tiles (%s, %i, %j) of (%ranks, ceildiv(%m, 128), %columns)
//             order <"own-shard-first", 8 over batch> {
//           dist.wait %ready[%s, %i] >= %chunks
//           ... tile.load %gathered[%s][%i, %k] ...
//           tile.store %c, %C[%s, %i, %j]                                           C as [R,M,N]
//         }
//       }
//     }
//
// Where all cores move it before they compute, and by copy engines, the own part stays where it is, and each of the others is
// waited for as a whole. By copy engines:
//
//       dist.role "gather" cores %c0 for %c1 on copy {
//         for each other rank
//           dist.put %A, %gathered[%rank] on %peer
//           dist.notify %ready[%rank] on %peer add %c1
//       }
//       dist.tiles (%s, %i, %j) of ... {
//         %own = arith.cmpi eq, %s, %rank
//         dist.wait %ready[%s] >= (%own ? 0 : 1)
//         %a = arith.select %own, %A, %gathered[%s]
//         ... tile.load %a[%i, %k] ...
//       }
//
// Along a ring a rank hands on what it has received, and talks to its neighbours alone (Gathers.h).
//
// Arguments that share the name of the dimension are R times as large on every rank. The dimension
// may also be swept by a loop, as K of a product is: then the loop visits the own shard first, and
// waits for a whole shard at a time. test/device/place-arguments.mlir shows both, and
// place-arguments-invalid.mlir what is refused.
//
#include "ditron/device/transforms/Gathers.h"
#include "ditron/device/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace ditron::device {
#define GEN_PASS_DEF_PLACEARGUMENTS
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron::device;

namespace {

/// The most elements of a chunk along the dimensions that are not gathered, from the last on: a
/// chunk is a run of memory, and as large as a core copies well.
constexpr int64_t kChunkColumns = 4096, kChunkRows = 16;

/// Arguments that are gathered along dimensions of one name, and the loops along them.
struct Group {
  StringAttr extent;
  SmallVector<Gather> gathers = {};
  SmallVector<ShardedLoop> loops = {};
  ShardRing ring = {}; ///< the order of the shards
};

std::string placementText(const Group &group) {
  return "'" + group.gathers.front().placed.name + "' is gathered along " +
         group.extent.getValue().str();
}

/// How a chunk lies in the argument: `along` elements of the gathered dimension. Where that is a
/// leading one, a chunk of several elements is a run of matrices.
SmallVector<int64_t> chunkShape(int64_t rank, int64_t dim, int64_t along) {
  SmallVector<int64_t> shape;
  bool isRun = dim < rank - 2 && along > 1;
  for (int64_t d = isRun ? dim : std::max<int64_t>(rank - 2, 0); d < rank; ++d)
    if (d == dim || (isRun && d < rank - 2))
      shape.push_back(d == dim ? along : 1);
    else
      shape.push_back(d < rank - 1 ? kChunkRows : isRun ? kChunkColumns / along : kChunkColumns);
  return shape;
}

/// Chooses the chunks by the loops that read the argument.
void chooseChunks(Group &group, Gather &gather) {
  for (const ShardedLoop &loop : group.loops) {
    bool reads =
        llvm::any_of(loop.uses, [&](auto &use) { return use.buffer == gather.placed.value; });
    if (!reads)
      continue;
    gather.byShard |= loop.isSweep() || (gather.chunk && gather.chunk != loop.size);
    gather.chunk = std::max(gather.chunk, loop.size);
  }
  gather.chunk = std::max<int64_t>(gather.chunk, 1);
  gather.byShard |= gather.keepsOwn(); // all of the shard comes at once, or before it is wanted
  if (gather.isBefore())
    gather.chunk = std::min(gather.chunk, kChunkRows); // each core has some
  int64_t rank = cast<MemRefType>(gather.placed.value.getType()).getRank();
  if (gather.dim() < rank - 2) {
    gather.byShard |= gather.chunk != 1;
    gather.chunk = gather.byShard ? kChunkRows : 1; // else a loop waits for each element
  }
  gather.shape = chunkShape(rank, gather.dim(), gather.chunk);
}

class GatherWriter {
public:
  GatherWriter(func::FuncOp kernel, MutableArrayRef<Group> groups)
      : kernel_(kernel), groups_(groups), top_(kernel.getLoc(), kernel.getContext()), math_(top_) {}

  void write() {
    Block &body = kernel_.getBody().front();
    Operation *first = &body.front();
    top_.setInsertionPoint(first);
    for (Group &group : groups_)
      for (Gather &gather : group.gathers) {
        gather.ranks = math_.numRanks(gather.axis());
        gather.rank = math_.rank(gather.axis());
        multiplyExtent(gather.placed.value, gather.dim(), gather.ranks);
      }
    for (Group &group : groups_)
      align(group);
    SmallVector<Operation *> original;
    for (Operation *op = first; op != body.getTerminator(); op = op->getNextNode())
      original.push_back(op);
    for (Group &group : groups_)
      for (Gather &gather : group.gathers)
        allocateGather(top_, gather);
    makeRoles(original);
    for (Group &group : groups_)
      cut(group);
    for (Group &group : groups_)
      if (llvm::any_of(group.loops, [](auto &loop) { return loop.window.has_value(); }))
        awaitAll(group);
  }

private:
  /// Where the ranks along several axes have parts of one dimension, the order of the shards: on rings
  /// that of Cannon's algorithm.
  void align(Group &group) {
    Gather &first = group.gathers.front();
    group.ring = {first.rank, first.ranks, first.axis()};
    llvm::MapVector<StringRef, const Gather *> axes;
    for (Gather &gather : group.gathers)
      axes.insert({gather.axis(), &gather});
    if (axes.size() == 1)
      return;
    for (auto [axis, gather] : axes) {
      if (axis != MeshAxis::world)
        group.ring.axis = axis;
      requireAsMany(group, *gather);
    }
    if (!llvm::all_of(group.gathers, [](const Gather &gather) { return gather.isRing(); }))
      return;
    group.ring.rank = math_.constant(0);
    for (auto [axis, gather] : axes)
      group.ring.rank = math_.add(group.ring.rank, gather->rank);
    for (Gather &gather : group.gathers)
      gather.skew = math_.subtract(group.ring.rank, gather.rank);
  }

  void requireAsMany(const Group &group, const Gather &gather) {
    const Gather &first = group.gathers.front();
    if (&gather == &first)
      return;
    Value isRight = top_.create<arith::CmpIOp>(arith::CmpIPredicate::eq, first.ranks, gather.ranks);
    std::string message = llvm::formatv(
        "'{0}' is gathered along {1} by {{} ranks (axis {2} of the mesh) and '{3}' by {{} (axis "
        "{4}), expected as many",
        first.placed.name, group.extent.getValue(), first.axis(), gather.placed.name,
        gather.axis());
    top_.create<ditron::core::RequireOp>(isRight, top_.getStringAttr(message),
                                         ValueRange{first.ranks, gather.ranks});
  }

  /// The cores that move data; none where only copy engines do.
  std::optional<int64_t> numCores() const {
    std::optional<int64_t> cores;
    for (const Group &group : groups_)
      for (const Gather &gather : group.gathers)
        if (gather.isByCores())
          cores = std::max(cores.value_or(0), gather.placed.placement.getCores());
    return cores;
  }

  /// Who sends, and who computes what was the kernel.
  void makeRoles(ArrayRef<Operation *> original) {
    Value zero = math_.constant(0), one = math_.constant(1);
    for (Group &group : groups_)
      for (Gather &gather : group.gathers)
        if (!gather.isByCores()) {
          auto role = top_.create<RoleOp>(top_.getStringAttr("gather"), zero, one, Engine::copy);
          role.getBody().emplaceBlock();
          sendGather(gather, role);
        }
    end_ = &kernel_.getBody().front();
    std::optional<int64_t> cores = numCores();
    if (!cores)
      return;
    RolePair roles = ditron::device::makeRoles(top_, "gather", "compute", *cores);
    Block &compute = roles.compute.getBody().front();
    end_ = &compute;
    for (Operation *op : original)
      op->moveBefore(&compute, compute.end());
    top_.setInsertionPoint(roles.move);
    for (Group &group : groups_)
      for (Gather &gather : group.gathers)
        if (gather.isByCores())
          sendGather(gather, roles.move);
  }

  void cut(Group &group) {
    const Gather &first = group.gathers.front();
    Value extent = math_.dim(first.placed.value, first.dim());
    const ShardRing &ring = group.ring;
    LoopCutter cutter(ring, extent);
    for (BlockArgument argument : kernel_.getArguments())
      for (int64_t dim : dimsNamed(argument, group.extent.getValue())) {
        auto *gather = llvm::find_if(group.gathers,
                                     [&](Gather &known) { return known.placed.value == argument; });
        bool isGathered = gather != group.gathers.end();
        if (!isGathered)
          requireParts(top_, argument, dim, ring, extent);
        cutter.redirect(argument, isGathered
                                      ? wholeOf(*gather)
                                      : splitArgument(top_, argument, dim, ring.ranks, extent));
      }
    for (ShardedLoop &loop : group.loops)
      cut(group, loop, cutter);
  }

  /// Waits for what no tile has waited for, since no window reaches it: a launch ends when all that
  /// is sent to it has come.
  void awaitAll(Group &group) {
    ImplicitLocOpBuilder b(kernel_.getLoc(), kernel_.getContext());
    if (Block *body = end_; body->mightHaveTerminator())
      b.setInsertionPoint(body->getTerminator());
    else
      b.setInsertionPointToEnd(body);
    IndexMath math(b);
    const Gather &first = group.gathers.front();
    auto shards = b.create<scf::ForOp>(math.constant(0), first.ranks, math.constant(1));
    b.setInsertionPointToStart(shards.getBody());
    Value shard = shards.getInductionVar();
    for (Gather &gather : group.gathers)
      b.create<WaitOp>(gather.ready, shard, expectedOf(b, gather, shard));
  }

  static Sharded wholeOf(const Gather &gather) {
    if (!gather.keepsOwn())
      return {gather.buffer, 0};
    return {gather.buffer, 0, gather.placed.value, gather.rank};
  }

  void cut(Group &group, ShardedLoop &loop, LoopCutter &cutter) {
    LoopCutter::Cut cut =
        loop.isSweep() ? cutter.cutSweep(loop) : cutter.cutTiles(loop, "own-shard-first");
    ImplicitLocOpBuilder b(loop.loop->getLoc(), kernel_.getContext());
    b.setInsertionPoint(cut.block, cut.start);
    if (cut.isVisited) { // what is not read is not waited for
      auto branch = b.create<scf::IfOp>(cut.isVisited, /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    for (Gather &gather : group.gathers) {
      auto isRead = [&](auto &use) { return use.buffer == gather.placed.value; };
      if (llvm::none_of(loop.uses, isRead))
        continue;
      SmallVector<Value> counter{cut.shard};
      if (!gather.byShard)
        counter.push_back(cut.tile);
      b.create<WaitOp>(gather.ready, counter, expectedOf(b, gather, cut.shard));
    }
  }

  /// The notifies that a shard takes: none for the own one where it stays where it is.
  Value expectedOf(ImplicitLocOpBuilder &b, const Gather &gather, Value shard) {
    if (!gather.keepsOwn())
      return gather.expected;
    Value isOwn = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, shard, gather.rank);
    return b.create<arith::SelectOp>(isOwn, IndexMath(b).constant(0), gather.expected);
  }

  func::FuncOp kernel_;
  MutableArrayRef<Group> groups_;
  ImplicitLocOpBuilder top_;
  IndexMath math_;
  Block *end_ = nullptr; ///< at whose end all is computed
};

/// What the groups are, and whether the kernel can be cut along them.
FailureOr<std::vector<Group>> findGroups(func::FuncOp kernel, ArrayRef<PlacedArgument> placed) {
  llvm::MapVector<StringAttr, Group> byName;
  for (const PlacedArgument &argument : placed) {
    if (!kernel.getArgAttr(argument.value.getArgNumber(), ditron::core::kReadOnlyAttr))
      return kernel.emitError() << "'" << argument.name
                                << "' is gathered, but the kernel writes it: expected an input";
    Group &group = byName[argument.extent];
    group.extent = argument.extent;
    group.gathers.push_back({argument});
  }
  std::vector<Group> groups;
  for (auto &[name, group] : byName) {
    std::string text = placementText(group);
    auto loops = findShardedLoops(kernel, {name.getValue(), text});
    if (failed(loops))
      return failure();
    group.loops = *loops;
    for (Gather &gather : group.gathers)
      chooseChunks(group, gather);
    groups.push_back(group);
  }
  return groups;
}

/// Two dimensions that are cut share no loop and no gathered argument: the first cut would hide it
/// from the second.
LogicalResult checkArguments(func::FuncOp kernel, ArrayRef<Group> groups) {
  for (const Group &group : groups)
    for (const Group &other : groups)
      for (const Gather &gather : other.gathers)
        if (group.extent != other.extent &&
            !dimsNamed(gather.placed.value, group.extent.getValue()).empty())
          return kernel.emitError()
                 << "'" << gather.placed.name << "' is gathered along " << other.extent.getValue()
                 << " and has the dimension " << group.extent.getValue() << ", along which '"
                 << group.gathers.front().placed.name << "' is gathered: expected one of them";
  return success();
}

LogicalResult checkLoops(ArrayRef<Group> groups) {
  llvm::DenseMap<Operation *, StringAttr> seen;
  for (const Group &group : groups)
    for (const ShardedLoop &loop : group.loops)
      if (auto [known, isNew] = seen.try_emplace(loop.loop, group.extent); !isNew)
        return loop.loop->emitError()
               << "this loop walks along " << known->second.getValue() << " and "
               << group.extent.getValue() << ", which are both gathered: expected one of them";
  return success();
}

struct PlaceArguments : ditron::device::impl::PlaceArgumentsBase<PlaceArguments> {
  void runOnOperation() override {
    if (failed(placeArguments(getOperation(), {PlacementKind::gathered},
                              [&](auto placed) { return place(placed); })))
      signalPassFailure();
  }

private:
  LogicalResult place(ArrayRef<PlacedArgument> placed) {
    func::FuncOp kernel = getOperation();
    if (hasVerbs(kernel))
      return kernel.emitError() << "'" << placed.front().name
                                << "' is gathered, but the kernel has verbs of its own: expected a "
                                   "kernel of one device";
    auto groups = findGroups(kernel, placed);
    if (failed(groups) || failed(checkArguments(kernel, *groups)) || failed(checkLoops(*groups)))
      return failure();
    GatherWriter(kernel, *groups).write();
    for (Group &group : *groups)
      finish(kernel, group);
    return success();
  }

  /// The signature of what is launched.
  static void finish(func::FuncOp kernel, Group &group) {
    for (BlockArgument argument : kernel.getArguments())
      if (llvm::none_of(group.gathers, [&](auto &own) { return own.placed.value == argument; }))
        for (int64_t dim : dimsNamed(argument, group.extent.getValue()))
          setWhole(kernel, argument, dim, group.gathers.front().axis());
    for (Gather &gather : group.gathers)
      kernel.removeArgAttr(gather.placed.value.getArgNumber(), kPlacementAttr);
  }
};

} // namespace
