// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/transforms/Exchanges.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace ditron::device {

constexpr int64_t kChunkRows = 16, kChunkColumns = 4096;

//===-- Buffers and roles ---------------------------------------------------------------------===//

RolePair
ExchangeWriter::begin(llvm::function_ref<SmallVector<Value>(const PlacedArgument &)> extents) {
  Block &body = kernel_.getBody().front();
  Operation *first = &body.front();
  SmallVector<Operation *> original;
  for (Operation *op = first; op != body.getTerminator(); op = op->getNextNode())
    original.push_back(op);
  top_.setInsertionPoint(first);
  allocate(extents);
  RolePair roles = makeRoles(top_, "exchange", "compute", exchange_.placement().getCores());
  Block &compute = roles.compute.getBody().front();
  for (Operation *op : original)
    op->moveBefore(&compute, compute.end());
  return roles;
}

void ExchangeWriter::allocate(
    llvm::function_ref<SmallVector<Value>(const PlacedArgument &)> extents) {
  ranks_ = math_.numRanks(exchange_.axis());
  rank_ = math_.rank(exchange_.axis());
  Value slots = math_.dim(exchange_.counts, 0);
  groups_ = math_.divide(slots, ranks_);
  Value rest = math_.remainder(slots, ranks_);
  Value isEven = top_.create<arith::CmpIOp>(arith::CmpIPredicate::eq, rest, math_.constant(0));
  top_.create<core::RequireOp>(isEven,
                               top_.getStringAttr("'" + exchange_.name +
                                                  "' has {} counts, expected as many for "
                                                  "each of {} ranks"),
                               ValueRange{slots, ranks_});
  all_ = symmetric(exchange_.name + ".of", exchange_.counts, {ranks_, slots});
  counted_ = counters(exchange_.name + ".counted");
  ready_ = counters(exchange_.name + ".ready");
  for (PlacedArgument &argument : exchange_.rows)
    received_.push_back(symmetric(argument.name + ".exchanged", argument.value, extents(argument)));
}

Value ExchangeWriter::symmetric(const std::string &name, Value like, ArrayRef<Value> extents) {
  Type element = cast<MemRefType>(like.getType()).getElementType();
  auto type = viewType(static_cast<int64_t>(extents.size()), element, SpaceKind::symmetric);
  return top_.create<SymmetricOp>(type, top_.getStringAttr(name), extents);
}

Value ExchangeWriter::counters(const std::string &name) {
  return top_.create<SignalsOp>(SignalsType::get(top_.getContext(), 1), top_.getStringAttr(name),
                                ranks_);
}

//===-- Counts --------------------------------------------------------------------------------===//

void ExchangeWriter::onFirstCore(Builder &b) {
  Value core = b.create<CoreOp>(b.getIndexType());
  Value isFirst = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, core, IndexMath(b).constant(0));
  auto branch = b.create<scf::IfOp>(isFirst, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
}

void ExchangeWriter::sendCounts(Builder &b) {
  {
    OpBuilder::InsertionGuard guard(b);
    onFirstCore(b);
    Value place = forEachPeer(b, exchange_.axis(), /*withSelf=*/true, Ring::next);
    Value peer = IndexMath(b).rankAt(exchange_.axis(), place);
    b.create<PutOp>(exchange_.counts, row(b, all_, rank_), peer);
    notify(b, counted_, rank_, peer);
  }
  requireRows(b);
}

/// Counts are 0 or more, together no more than there are rows.
void ExchangeWriter::requireRows(Builder &b) {
  IndexMath math(b);
  Value zero = math.constant(0), slots = math.dim(exchange_.counts, 0);
  Value total = sumOver(b, zero, slots, [&](Builder &b, Value slot) {
    Value count = load(b, exchange_.counts, slot);
    Value isCount =
        b.create<arith::CmpIOp>(arith::CmpIPredicate::sge, count, IndexMath(b).constant(0));
    b.create<core::RequireOp>(
        isCount, b.getStringAttr("'" + exchange_.name + "' has {} at place {}, expected 0 or more"),
        ValueRange{count, slot});
    return count;
  });
  for (PlacedArgument &argument : exchange_.rows) {
    Value rows = math.dim(argument.value, 0);
    Value fits = b.create<arith::CmpIOp>(arith::CmpIPredicate::sle, total, rows);
    b.create<core::RequireOp>(fits,
                              b.getStringAttr("'" + exchange_.name + "' counts {} rows, but '" +
                                              argument.name + "' has {}"),
                              ValueRange{total, rows});
  }
}

void ExchangeWriter::awaitCounts(Builder &b) {
  OpBuilder::InsertionGuard guard(b);
  IndexMath math(b);
  auto loop = b.create<scf::ForOp>(math.constant(0), ranks_, math.constant(1));
  b.setInsertionPointToStart(loop.getBody());
  b.create<WaitOp>(counted_, loop.getInductionVar(), IndexMath(b).constant(1));
}

void ExchangeWriter::notify(Builder &b, Value signals, Value at, Value peer) {
  b.create<NotifyOp>(signals, at, peer, NotifyMode::add, IndexMath(b).constant(1));
}

Value ExchangeWriter::firstSlotOf(Builder &b, Value place) {
  return IndexMath(b).multiply(place, groups_);
}

Value ExchangeWriter::rowsBefore(Builder &b, Value slot) {
  return sumOver(b, IndexMath(b).constant(0), slot,
                 [&](Builder &b, Value slot) { return load(b, exchange_.counts, slot); });
}

Value ExchangeWriter::sent(Builder &b, Value place, Value slot) {
  return load(b, row(b, all_, place), slot);
}

Value ExchangeWriter::ownSlot(Builder &b, Value group) {
  return IndexMath(b).add(firstSlotOf(b, rank_), group);
}

void ExchangeWriter::replaceCounts(Operation *body,
                                   llvm::function_ref<Value(Builder &, Value)> countOf) {
  for (OpOperand &use : llvm::make_early_inc_range(exchange_.counts.getUses())) {
    Operation *op = use.getOwner();
    if (!body->isProperAncestor(op))
      continue;
    Builder b(op->getLoc(), op);
    if (isa<memref::DimOp>(op)) {
      op->getResult(0).replaceAllUsesWith(groups_);
    } else {
      auto read = cast<memref::LoadOp>(op);
      Value count = countOf(b, ownSlot(b, read.getIndices()[0]));
      read.replaceAllUsesWith(b.create<arith::IndexCastOp>(read.getType(), count).getResult());
    }
    op->erase();
  }
}

//===-- Rows ----------------------------------------------------------------------------------===//

void ExchangeWriter::putRows(Builder &b, const Rows &from, const Rows &to, Value count,
                             Value peer) {
  OpBuilder::InsertionGuard guard(b);
  IndexMath math(b);
  Value source = rowsOf(b, from, count), target = rowsOf(b, to, count);
  SmallVector<Value> grid{math.ceilDiv(count, math.constant(kChunkRows)),
                          math.ceilDiv(math.dim(from.view, 1), math.constant(kChunkColumns))};
  auto tiles = b.create<TilesOp>(
      grid, Value(), b.getI64IntegerAttr(1),
      OrderAttr::get(b.getContext(), "row-major", 1, ShardedAxis::rows, MeshAxis::world));
  Block &body = tiles.getBody().emplaceBlock();
  body.addArguments({b.getIndexType(), b.getIndexType()}, {b.getLoc(), b.getLoc()});
  b.setInsertionPointToStart(&body);
  auto chunk = [&](Value view) -> Value {
    auto type = cast<MemRefType>(view.getType());
    return b.create<core::ChunkOp>(viewType(2, type.getElementType(), spaceOf(type)), view,
                                   body.getArguments(),
                                   ArrayRef<int64_t>{kChunkRows, kChunkColumns});
  };
  Value rows = chunk(source);
  b.create<PutOp>(rows, chunk(target), peer);
}

Value ExchangeWriter::rowsOf(Builder &b, const Rows &rows, Value count) {
  auto type = cast<MemRefType>(rows.view.getType());
  SmallVector<OpFoldResult> offsets{rows.first, b.getIndexAttr(0)},
      sizes{count, IndexMath(b).dim(rows.view, 1)}, strides{b.getIndexAttr(1), b.getIndexAttr(1)};
  return b.create<memref::SubViewOp>(viewType(2, type.getElementType(), spaceOf(type)), rows.view,
                                     offsets, sizes, strides);
}

//===-- Numbers -------------------------------------------------------------------------------===//

Value ExchangeWriter::sumOver(Builder &b, Value first, Value end,
                              llvm::function_ref<Value(Builder &, Value)> term) {
  OpBuilder::InsertionGuard guard(b);
  IndexMath math(b);
  auto loop = b.create<scf::ForOp>(first, end, math.constant(1), ValueRange{math.constant(0)});
  b.setInsertionPointToStart(loop.getBody());
  Value more = term(b, loop.getInductionVar());
  b.create<scf::YieldOp>(ValueRange{IndexMath(b).add(loop.getRegionIterArg(0), more)});
  return loop.getResult(0);
}

Value ExchangeWriter::load(Builder &b, Value view, Value at) {
  Value count = b.create<memref::LoadOp>(view, at);
  return b.create<arith::IndexCastOp>(b.getIndexType(), count);
}

/// Row `number` of a matrix of counts.
Value ExchangeWriter::row(Builder &b, Value view, Value number) {
  auto type = cast<MemRefType>(view.getType());
  SmallVector<OpFoldResult> offsets{number, b.getIndexAttr(0)},
      sizes{b.getIndexAttr(1), IndexMath(b).dim(view, 1)},
      strides{b.getIndexAttr(1), b.getIndexAttr(1)};
  return b.create<memref::SubViewOp>(viewType(1, type.getElementType(), spaceOf(type)), view,
                                     offsets, sizes, strides);
}

} // namespace ditron::device
