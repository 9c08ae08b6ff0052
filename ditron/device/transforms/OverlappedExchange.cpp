// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles begin when the rows of one rank are there: the own ones first, then those of the next rank,
// and so on. A tile sees the rows and counts of one rank, as if there were no others.
//
//     dist.tiles (%i, %j) of (%m, %n) {
//       ... memref.load %counts[%g]
//       %a = memref.subview %A[%first, 0] [%rows, %k]; tile.load %a
//       %c = memref.subview %C[%first, 0] [%rows, %n]; tile.store %c
//     }
//  ->
//     dist.tiles (%s, %i, %j) of (%ranks, %m, %n) order <"own-shard-first"> {
//       dist.wait %ready[%s] >= (%s is this rank ? 0 : 1)
//       ... memref.load %all[%s, G * rank + %g]
//       %a = (%s is this rank ? %A behind rows for others : %received[%s])[%first, 0] [%rows, %k]
//       %c = memref.subview %C[%there, 0] [%rows, %n]
//     }
//
// Where a part of a group stands in C is found by its place among the rows of %s: behind all earlier
// groups, and behind the rows of the group that earlier ranks send. This is right where a kernel walks
// over rows in one loop over tiles and names them by slices that follow from counts; others are joined.
//
#include "ditron/device/AccessSpace.h"
#include "ditron/device/transforms/Exchanges.h"
#include "ditron/device/transforms/LoopCutter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace ditron::device;
namespace core = ditron::core;

namespace {

//===-- Which kernels are of this form --------------------------------------------------------===//

/// Whether a value follows from what an argument holds.
bool follows(Value value, BlockArgument argument, llvm::SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = value.getDefiningOp();
  if (auto carried = dyn_cast<BlockArgument>(value))
    op = carried.getOwner()->getParentOp();
  if (!op || isa<TilesOp, RoleOp, func::FuncOp>(op) || !seen.insert(op).second)
    return false;
  auto reads = [&](memref::LoadOp read) {
    return read.getMemRef() == argument ? WalkResult::interrupt() : WalkResult::advance();
  };
  return op->walk(reads).wasInterrupted() || llvm::any_of(op->getOperands(), [&](Value operand) {
           return follows(operand, argument, seen);
         });
}

/// Whether an op makes a view of its first operand.
bool isView(Operation *op) {
  return op->getNumResults() == 1 && isa<MemRefType>(op->getResult(0).getType()) &&
         op->getNumOperands() > 0 && isa<MemRefType>(op->getOperand(0).getType()) &&
         isMemoryEffectFree(op);
}

/// What a kernel is where its rows can be cut by rank.
class OverlappedForm {
public:
  OverlappedForm(func::FuncOp kernel, const Exchange &exchange)
      : kernel_(kernel), exchange_(exchange) {}

  /// The loop over tiles; null where the kernel is of another form.
  TilesOp find() {
    for (Operation &op : kernel_.front().without_terminator()) {
      auto tiles = dyn_cast<TilesOp>(op);
      if (tiles && (tiles_ || tiles.getExtents().size() >= kMostTileDims))
        return {};
      if (tiles)
        tiles_ = tiles;
      else if (!isMemoryEffectFree(&op) && !isa<core::RequireOp>(op))
        return {};
    }
    bool isRight = tiles_ && llvm::all_of(kernel_.getArguments(), [&](BlockArgument argument) {
                     return hasRows(argument) ? isSlicedByRows(argument) : isLeftAlone(argument);
                   });
    return isRight ? tiles_ : TilesOp();
  }

  /// Whether the exchanged dimension is the first one of an argument.
  static bool hasRows(BlockArgument argument, const Exchange &exchange) {
    return isa<MemRefType>(argument.getType()) && argument != exchange.counts &&
           extentName(argument, 0) == exchange.rows.front().extent;
  }

private:
  bool hasRows(BlockArgument argument) const { return hasRows(argument, exchange_); }

  /// Whether an argument without rows is only read.
  bool isLeftAlone(BlockArgument argument) const {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type)
      return true;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (extentName(argument, dim) == exchange_.rows.front().extent)
        return false;
    func::FuncOp kernel = kernel_;
    return static_cast<bool>(kernel.getArgAttr(argument.getArgNumber(), core::kReadOnlyAttr));
  }

  /// Whether rows are named by slices alone that follow from counts, in the loop.
  bool isSlicedByRows(BlockArgument argument) const {
    return llvm::all_of(argument.getUsers(), [&](Operation *user) {
      if (auto dim = dyn_cast<memref::DimOp>(user))
        return dim.getConstantIndex() && (*dim.getConstantIndex() != 0 || isForExtents(dim));
      auto slice = dyn_cast<memref::SubViewOp>(user);
      return slice && tiles_->isProperAncestor(slice) && !slice.getDroppedDims()[0] &&
             followsFromCounts(slice.getMixedOffsets()[0]) &&
             followsFromCounts(slice.getMixedSizes()[0]) && endsInLoop(slice);
    });
  }

  bool followsFromCounts(OpFoldResult number) const {
    llvm::SmallPtrSet<Operation *, 16> seen;
    auto value = dyn_cast<Value>(number);
    return value && follows(value, exchange_.counts, seen);
  }

  /// Whether a number of rows says nothing but how many tiles there may be, and what is required.
  bool isForExtents(Operation *op) const {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      if (user == tiles_ || isa<core::RequireOp>(user))
        return true;
      return isMemoryEffectFree(user) && !isView(user) && user->getNumRegions() == 0 &&
             isForExtents(user);
    });
  }

  bool endsInLoop(Operation *view) const {
    return llvm::all_of(view->getUsers(), [&](Operation *user) {
      return tiles_->isProperAncestor(user) && (!isView(user) || endsInLoop(user));
    });
  }

  func::FuncOp kernel_;
  const Exchange &exchange_;
  TilesOp tiles_;
};

//===-- The verbs -----------------------------------------------------------------------------===//

class OverlappedWriter : ExchangeWriter {
public:
  OverlappedWriter(func::FuncOp kernel, Exchange &exchange, TilesOp tiles)
      : ExchangeWriter(kernel, exchange), tiles_(tiles) {}

  void write() {
    RolePair roles = begin([&](const PlacedArgument &argument) {
      return SmallVector<Value>{ranks_, math_.dim(argument.value, 0), math_.dim(argument.value, 1)};
    });
    send(roles.move);
    receive(roles.compute);
  }

private:
  /// The rank before this one has its own rows, and takes those of this rank next.
  void send(RoleOp role) {
    Builder b(kernel_.getLoc(), kernel_.getContext());
    b.setInsertionPointToEnd(&role.getBody().front());
    sendCounts(b);
    Value place = forEachPeer(b, exchange_.axis(), /*withSelf=*/false, Ring::previous);
    Value peer = IndexMath(b).rankAt(exchange_.axis(), place);
    Value first = firstSlotOf(b, place), from = rowsBefore(b, first);
    Value count = sumOver(b, first, IndexMath(b).add(first, groups_),
                          [&](Builder &b, Value slot) { return load(b, exchange_.counts, slot); });
    for (auto [argument, received] : llvm::zip_equal(exchange_.rows, received_))
      putRows(b, {argument.value, from},
              {shardOf(b, b.getLoc(), {received, 0}, rank_), IndexMath(b).constant(0)}, count,
              peer);
    // One notify tells of what all cores have put: ranks may have different numbers of them.
    b.create<BarrierOp>(BarrierScope::cores);
    onFirstCore(b);
    notify(b, ready_, rank_, peer);
  }

  void receive(RoleOp compute) {
    cutLoop();
    replaceCounts(compute, [&](Builder &b, Value slot) { return sent(b, shard_, slot); });
    Builder b(kernel_.getLoc(), kernel_.getContext());
    b.setInsertionPointToStart(&compute.getBody().front());
    awaitCounts(b);
    ownFirst_ = rowsBefore(b, firstSlotOf(b, rank_));
    for (auto [argument, received] : llvm::zip_equal(exchange_.rows, received_))
      readRows(argument.value, received);
    for (BlockArgument argument : kernel_.getArguments())
      if (OverlappedForm::hasRows(argument, exchange_) && !exchange_.isExchanged(argument))
        nameRows(argument, compute);
  }

  /// The tiles of one rank's rows after those of another.
  void cutLoop() {
    SmallVector<Value> same(tiles_.getExtents().size());
    ShardedTiles cut = withShards(tiles_, {rank_, ranks_, exchange_.axis()}, same,
                                  tiles_.getElements(), "own-shard-first");
    tiles_ = cut.tiles, shard_ = cut.shard;
    Builder b(tiles_.getLoc(), tiles_->getContext());
    b.setInsertionPointToStart(&tiles_.getBody().front());
    if (Operation *made = shard_.getDefiningOp())
      b.setInsertionPointAfter(made);
    IndexMath math(b);
    isOwn_ = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, shard_, rank_);
    Value expected = b.create<arith::SelectOp>(isOwn_, math.constant(0), math.constant(1));
    b.create<WaitOp>(ready_, shard_, expected);
  }

  //===-- Rows that are read ------------------------------------------------------------------===//

  /// Rows of the own part stay where they are. The choice of where rows lie comes last, so that both
  /// views are plain parts of memory.
  void readRows(BlockArgument argument, Value received) {
    Builder b(tiles_.getLoc(), tiles_->getContext());
    b.setInsertionPointAfterValue(isOwn_);
    IndexMath math(b);
    // Nobody looks at the own rows at places of another rank's, but they are there.
    Value first = b.create<arith::SelectOp>(isOwn_, ownFirst_, math.constant(0));
    Value own = rowsOf(b, {argument, first}, math.subtract(math.dim(argument, 0), first));
    Value theirs = b.create<memref::MemorySpaceCastOp>(
        cast<MemRefType>(argument.getType()), shardOf(b, b.getLoc(), {received, 0}, shard_));
    SmallVector<OpOperand *> accesses;
    for (Operation *user : argument.getUsers())
      if (auto slice = dyn_cast<memref::SubViewOp>(user); slice && user != own.getDefiningOp())
        if (tiles_->isProperAncestor(slice))
          collectAccesses(slice, accesses);
    for (OpOperand *access : accesses)
      access->set(choose(*access, {argument, own, theirs}));
  }

  static void collectAccesses(Operation *view, SmallVectorImpl<OpOperand *> &accesses) {
    for (OpOperand &use : view->getResult(0).getUses())
      if (isView(use.getOwner()))
        collectAccesses(use.getOwner(), accesses);
      else if (!isa<memref::DimOp>(use.getOwner()))
        accesses.push_back(&use);
  }

  struct Choice {
    BlockArgument argument;
    Value own, theirs;
  };
  /// Stands where the view did, so that all steps of a loop share it.
  Value choose(OpOperand &access, const Choice &rows) {
    OpBuilder b(access.getOwner()->getContext());
    b.setInsertionPointAfterValue(access.get());
    Value own = rebased(b, access.get(), rows.argument, rows.own);
    Value theirs = rebased(b, access.get(), rows.argument, rows.theirs);
    return b.create<arith::SelectOp>(access.getOwner()->getLoc(), isOwn_, own, theirs);
  }

  /// The view of an argument again, of something else.
  static Value rebased(OpBuilder &b, Value view, BlockArgument argument, Value other) {
    if (view == argument)
      return other;
    Operation *op = view.getDefiningOp();
    Value source = op->getOperand(0);
    IRMapping mapping;
    mapping.map(source, rebased(b, source, argument, other));
    // What is all of a dimension is so of the other one, too.
    for (Value operand : llvm::drop_begin(op->getOperands()))
      if (auto dim = operand.getDefiningOp<memref::DimOp>(); dim && dim.getSource() == source)
        mapping.map(operand, b.clone(*dim, mapping)->getResult(0));
    return b.clone(*op, mapping)->getResult(0);
  }

  //===-- Rows of all ranks -------------------------------------------------------------------===//

  /// Slices of an argument that has the rows of all ranks, and the number of its rows, which counts
  /// those of one.
  void nameRows(BlockArgument argument, RoleOp compute) {
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
      if (!compute->isProperAncestor(user))
        continue;
      if (auto slice = dyn_cast<memref::SubViewOp>(user))
        nameRows(slice, argument);
      else if (auto dim = cast<memref::DimOp>(user); dim.getConstantIndex() == 0)
        dim.getSourceMutable().assign(exchange_.rows.front().value);
    }
  }

  void nameRows(memref::SubViewOp slice, BlockArgument argument) {
    Builder b(slice.getLoc(), slice);
    SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
    Value first = cast<Value>(offsets[0]), count = cast<Value>(slice.getMixedSizes()[0]);
    Place place = placeOf(b, first);
    require(b, {first, count}, place.end, argument);
    offsets[0] = place.row;
    Value moved = b.create<memref::SubViewOp>(slice.getType(), slice.getSource(), offsets,
                                              slice.getMixedSizes(), slice.getMixedStrides());
    slice.replaceAllUsesWith(moved);
    slice.erase();
  }

  struct Place {
    Value row, end; ///< among all rows, and the end of the group among those of one rank
  };
  /// Where a row of this shard stands among the rows of all ranks.
  Place placeOf(Builder &b, Value row) {
    OpBuilder::InsertionGuard guard(b);
    IndexMath outside(b);
    Value zero = outside.constant(0);
    auto groups = b.create<scf::ForOp>(zero, groups_, outside.constant(1),
                                       ValueRange{zero, zero, zero, zero});
    b.setInsertionPointToStart(groups.getBody());
    IndexMath math(b);
    Value slot = ownSlot(b, groups.getInductionVar());
    Value begin = groups.getRegionIterArg(0), there = groups.getRegionIterArg(1);
    Value end = math.add(begin, sent(b, shard_, slot));
    auto [all, earlier] = sentByAll(b, slot);
    auto compare = [&](arith::CmpIPredicate how, Value x, Value y) -> Value {
      return b.create<arith::CmpIOp>(how, x, y);
    };
    Value isHere = b.create<arith::AndIOp>(compare(arith::CmpIPredicate::sge, row, begin),
                                           compare(arith::CmpIPredicate::slt, row, end));
    Value place = math.add(math.add(there, earlier), math.subtract(row, begin));
    auto select = [&](Value here, Value before) -> Value {
      return b.create<arith::SelectOp>(isHere, here, before);
    };
    b.create<scf::YieldOp>(ValueRange{end, math.add(there, all),
                                      select(place, groups.getRegionIterArg(2)),
                                      select(end, groups.getRegionIterArg(3))});
    return {groups.getResult(2), groups.getResult(3)};
  }

  /// The rows that all ranks send for a slot, and those of the ranks before the shard's.
  std::pair<Value, Value> sentByAll(Builder &b, Value slot) {
    OpBuilder::InsertionGuard guard(b);
    IndexMath outside(b);
    Value zero = outside.constant(0);
    auto loop = b.create<scf::ForOp>(zero, ranks_, outside.constant(1), ValueRange{zero, zero});
    b.setInsertionPointToStart(loop.getBody());
    IndexMath math(b);
    Value from = loop.getInductionVar(), count = sent(b, from, slot);
    Value isBefore = b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, from, shard_);
    Value before = b.create<arith::SelectOp>(isBefore, count, zero);
    b.create<scf::YieldOp>(ValueRange{math.add(loop.getRegionIterArg(0), count),
                                      math.add(loop.getRegionIterArg(1), before)});
    return {loop.getResult(0), loop.getResult(1)};
  }

  struct Slice {
    Value first, count;
  };
  /// Ends a launch where a slice has rows of several groups.
  void require(Builder &b, const Slice &slice, Value end, BlockArgument argument) {
    IndexMath math(b);
    Value fits =
        b.create<arith::CmpIOp>(arith::CmpIPredicate::sle, math.add(slice.first, slice.count), end);
    Value isEmpty =
        b.create<arith::CmpIOp>(arith::CmpIPredicate::sle, slice.count, math.constant(0));
    auto name = kernel_.getArgAttrOfType<StringAttr>(argument.getArgNumber(), core::kNameAttr);
    std::string message = "'" + (name ? name.str() : "an argument") +
                          "' is sliced at row {} of one rank's, {} rows of a group that ends at {}";
    b.create<core::RequireOp>(b.create<arith::OrIOp>(fits, isEmpty), b.getStringAttr(message),
                              ValueRange{slice.first, slice.count, end});
  }

  TilesOp tiles_;
  Value shard_, isOwn_, ownFirst_;
};

} // namespace

bool ditron::device::overlapExchange(func::FuncOp kernel, Exchange &exchange) {
  bool hasMovers = exchange.placement().getCores() > 0; // else all cores move all rows first
  TilesOp tiles = hasMovers ? OverlappedForm(kernel, exchange).find() : TilesOp();
  if (tiles)
    OverlappedWriter(kernel, exchange, tiles).write();
  return static_cast<bool>(tiles);
}
