// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/transforms/Gathers.h"
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
  /// Own chunks to every rank.
  void sendChunks() {
    Value place = forEachPeer(b_, gather_.axis(), /*withSelf=*/true);
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
    auto tiles =
        b_.create<TilesOp>(gather_.grid, Value(), b_.getI64IntegerAttr(1),
                           OrderAttr::get(b_.getContext(), "row-major", 1, ShardedAxis::rows));
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
