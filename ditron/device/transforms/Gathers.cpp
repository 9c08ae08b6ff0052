// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/transforms/Gathers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::device {

void allocateGather(ImplicitLocOpBuilder &top, Gather &gather) {
  IndexMath math(top);
  Value source = gather.placed.value;
  auto type = cast<MemRefType>(source.getType());
  SmallVector<Value> extents{gather.ranks};
  size_t lead = type.getRank() - gather.shape.size();
  for (int64_t d = 0; d < type.getRank(); ++d) {
    extents.push_back(math.dim(source, d));
    int64_t size = d < static_cast<int64_t>(lead) ? 1 : gather.shape[d - lead];
    gather.grid.push_back(math.ceilDiv(extents.back(), math.constant(size)));
  }
  auto bufferType = viewType(type.getRank() + 1, type.getElementType(), SpaceKind::symmetric);
  gather.buffer = top.create<SymmetricOp>(
      bufferType, top.getStringAttr(gather.placed.name + ".gathered"), extents);
  auto counters = [&](StringRef what, ArrayRef<Value> extents) -> Value {
    auto type = SignalsType::get(top.getContext(), static_cast<int64_t>(extents.size()));
    return top.create<SignalsOp>(type, top.getStringAttr(gather.placed.name + what), extents);
  };
  SmallVector<Value> counts{gather.ranks};
  if (!gather.byShard)
    counts.push_back(gather.grid[gather.dim()]);
  gather.ready = counters(".ready", counts);
  if (gather.isRing() && !gather.isByCores())
    gather.passing = counters(".passing", gather.ranks);
  gather.expected = math.constant(1);
  for (auto [d, count] : llvm::enumerate(gather.grid))
    if (gather.isByCores() && (gather.byShard || static_cast<int64_t>(d) != gather.dim()))
      gather.expected = math.multiply(gather.expected, count);
}

namespace {

/// Writes what a role does for one argument.
class Sender {
public:
  Sender(const Gather &gather, RoleOp role)
      : gather_(gather), b_(role.getLoc(), role.getContext()), math_(b_) {
    b_.setInsertionPointToEnd(&role.getBody().front());
  }

  void write() {
    if (gather_.isByCores())
      gather_.isRing() ? passChunks() : sendChunks();
    else
      gather_.isRing() ? passShards() : sendShards();
  }

private:
  /// Own chunks to every rank that does not read them where they are.
  void sendChunks() {
    Value place = forEachPeer(b_, gather_.axis(), /*withSelf=*/!gather_.keepsOwn());
    putChunks(gather_.placed.value, gather_.rank, math_.rankAt(gather_.axis(), place));
  }

  /// The own shard to every other rank; this one reads it where it is.
  void sendShards() {
    Value place = forEachPeer(b_, gather_.axis(), /*withSelf=*/false);
    Value peer = math_.rankAt(gather_.axis(), place);
    b_.create<PutOp>(gather_.placed.value, slot(gather_.rank), peer);
    notify(gather_.ready, gather_.rank, peer);
  }

  /// Own chunks to this rank and the previous one, then all but the last shard that comes.
  void passChunks() {
    if (gather_.skew)
      return passSkewedChunks();
    {
      OpBuilder::InsertionGuard guard(b_);
      Value back = forEach(math_.constant(0), math_.least(gather_.ranks, math_.constant(2)));
      putChunks(gather_.placed.value, gather_.rank, math_.rankAt(gather_.axis(), before(back)));
    }
    Value shard = forEachPassed();
    Value peer = math_.rankAt(gather_.axis(), before(math_.constant(1)));
    putChunks({}, shard, peer);
  }

  void passShards() {
    if (gather_.skew)
      return passSkewedShards();
    Value one = math_.constant(1), zero = math_.constant(0);
    Value peer = math_.rankAt(gather_.axis(), before(one));
    Value others = math_.subtract(gather_.ranks, one);
    auto pass = [&](Value source, Value shard, Value step) {
      b_.create<PutOp>(source, slot(shard), peer);
      notify(gather_.ready, shard, peer);
      // The one who has it last hands it on to nobody.
      Value rest = math_.subtract(others, math_.add(step, one));
      forEach(zero, math_.most(math_.least(rest, one), zero));
      notify(gather_.passing, shard, peer);
    };
    {
      OpBuilder::InsertionGuard guard(b_);
      forEach(zero, math_.least(others, one));
      pass(gather_.placed.value, gather_.rank, zero);
    }
    Value shard = forEachPassed();
    b_.create<WaitOp>(gather_.passing, shard, one);
    pass(slot(shard), shard, step_);
  }

  //===-- Cannon's rings ----------------------------------------------------------------------===//

  /// Own chunks to this rank and the one that begins with them, then all shards but the last to the
  /// previous rank, unless it is its own.
  void passSkewedChunks() {
    Value zero = math_.constant(0), first = beginner();
    {
      OpBuilder::InsertionGuard guard(b_);
      Value isOther = isSame(arith::CmpIPredicate::ne, first, gather_.rank);
      Value number =
          forEach(zero, b_.create<arith::SelectOp>(isOther, math_.constant(2), math_.constant(1)));
      Value isOwn = isSame(arith::CmpIPredicate::eq, number, zero);
      Value place = b_.create<arith::SelectOp>(isOwn, gather_.rank, first);
      putChunks(gather_.placed.value, gather_.rank, math_.rankAt(gather_.axis(), place));
    }
    Value shard = forEachSkewed(), previous = before(math_.constant(1));
    when(isSame(arith::CmpIPredicate::ne, shard, previous));
    putChunks({}, shard, math_.rankAt(gather_.axis(), previous));
  }

  void passSkewedShards() {
    Value first = beginner(), one = math_.constant(1);
    {
      OpBuilder::InsertionGuard guard(b_);
      when(isSame(arith::CmpIPredicate::ne, first, gather_.rank));
      Value peer = math_.rankAt(gather_.axis(), first);
      b_.create<PutOp>(gather_.placed.value, slot(gather_.rank), peer);
      notifySkewed(gather_.rank, first, math_.constant(0));
    }
    Value shard = forEachSkewed(), previous = before(one);
    when(isSame(arith::CmpIPredicate::ne, shard, previous));
    Value peer = math_.rankAt(gather_.axis(), previous);
    auto branch = b_.create<scf::IfOp>(isSame(arith::CmpIPredicate::eq, shard, gather_.rank),
                                       /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(branch.thenBlock());
      b_.create<PutOp>(gather_.placed.value, slot(gather_.rank), peer);
      b_.setInsertionPointToStart(branch.elseBlock());
      b_.create<WaitOp>(gather_.passing, shard, one);
      b_.create<PutOp>(slot(shard), slot(shard), peer);
    }
    notifySkewed(shard, previous, math_.add(step_, one));
  }

  /// Tells the one at `place` that a shard is there, and its copy engines if it hands the shard on:
  /// it is the one of its step `step`.
  void notifySkewed(Value shard, Value place, Value step) {
    OpBuilder::InsertionGuard guard(b_);
    Value one = math_.constant(1), peer = math_.rankAt(gather_.axis(), place);
    notify(gather_.ready, shard, peer);
    Value behind = around(math_.subtract(math_.add(place, gather_.ranks), one));
    Value last = math_.subtract(gather_.ranks, one);
    when(isSame(arith::CmpIPredicate::ne, shard, behind));
    when(isSame(arith::CmpIPredicate::slt, step, last));
    notify(gather_.passing, shard, peer);
  }

  /// The place of the rank that begins with this rank's shard.
  Value beginner() {
    Value places = math_.add(gather_.rank, gather_.ranks);
    return around(math_.subtract(places, around(gather_.skew)));
  }

  /// for (shard : all but the last, from the first one on); the builder is in the body.
  Value forEachSkewed() {
    step_ = forEach(math_.constant(0), math_.subtract(gather_.ranks, math_.constant(1)));
    return around(math_.add(math_.add(gather_.rank, gather_.skew), step_));
  }

  Value around(Value place) { return math_.remainder(place, gather_.ranks); }

  Value isSame(arith::CmpIPredicate how, Value x, Value y) {
    return b_.create<arith::CmpIOp>(how, x, y);
  }

  /// if (condition); the builder is in the body.
  void when(Value condition) {
    auto branch = b_.create<scf::IfOp>(condition, /*withElseRegion=*/false);
    b_.setInsertionPointToStart(branch.thenBlock());
  }

  //===-- Parts of all ------------------------------------------------------------------------===//

  /// for (shard : those that come from the next rank and go on); the builder is in the body.
  Value forEachPassed() {
    Value one = math_.constant(1);
    step_ = forEach(one, math_.subtract(gather_.ranks, one));
    return math_.remainder(math_.add(gather_.rank, step_), gather_.ranks);
  }

  /// The rank `back` places before this one.
  Value before(Value back) {
    Value around = math_.add(gather_.rank, gather_.ranks);
    return math_.remainder(math_.subtract(around, back), gather_.ranks);
  }

  Value forEach(Value first, Value end) {
    auto loop = b_.create<scf::ForOp>(first, end, math_.constant(1));
    b_.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  }

  Value slot(Value shard) { return shardOf(b_, b_.getLoc(), {gather_.buffer, 0}, shard); }

  void notify(Value counters, ValueRange at, Value peer) {
    b_.create<NotifyOp>(counters, at, peer, NotifyMode::add, math_.constant(1));
  }

  /// The chunks of a shard to a peer, from `source`, or, if it is null, from this rank's slot, once
  /// they are there.
  void putChunks(Value source, Value shard, Value peer) {
    auto tiles = b_.create<TilesOp>(
        gather_.grid, Value(), b_.getI64IntegerAttr(1),
        OrderAttr::get(b_.getContext(), "row-major", 1, ShardedAxis::rows, MeshAxis::world));
    Block &body = tiles.getBody().emplaceBlock();
    for (size_t d = 0; d < gather_.grid.size(); ++d)
      body.addArgument(b_.getIndexType(), b_.getLoc());
    b_.setInsertionPointToStart(&body);
    SmallVector<Value> at(body.getArguments()), inSlot{shard}, counter{shard};
    llvm::append_range(inSlot, at);
    if (!gather_.byShard)
      counter.push_back(at[gather_.dim()]);
    if (!source)
      b_.create<WaitOp>(gather_.ready, counter, gather_.expected);
    Value from = source ? chunk(source, at) : chunk(gather_.buffer, inSlot);
    Value target = source ? chunk(gather_.buffer, inSlot) : from;
    b_.create<PutOp>(from, target, peer);
    notify(gather_.ready, counter, peer);
  }

  Value chunk(Value view, ValueRange coords) {
    auto type = cast<MemRefType>(view.getType());
    auto part =
        viewType(static_cast<int64_t>(gather_.shape.size()), type.getElementType(), spaceOf(type));
    return b_.create<core::ChunkOp>(part, view, coords, gather_.shape);
  }

  const Gather &gather_;
  ImplicitLocOpBuilder b_;
  IndexMath math_;
  Value step_;
};

} // namespace

void sendGather(const Gather &gather, RoleOp role) { Sender(gather, role).write(); }

} // namespace ditron::device
