// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A store that trails a reduction by a row, as in softmax:
//
//   e = exp(x - max)      for row:  row of e, its sum       for row:  row of e, its sum,
//   s = sum(e)            for row:  1 / sum            ->               beside it the row before of
//   y = e * (1 / s)       for row:  row of y                            e * (1 / s), stored
//
// Stores past the caches are limited by memory, rows of e by the core: side by side they take the
// time of one of them. A row of y is written before the next rows of x are read, so this is only
// done where a run-time check finds x and y apart.
//
// In a loop the last row of a tile waits for the first one of the next (Pending). It is stored
// before anything else in the loop writes memory or takes another way, and after the loop.
#include "ditron/targets/cpu/transforms/TileLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace ditron::cpu {

static ArrayRef<int64_t> shapeOf(Value tile) {
  return cast<RankedTensorType>(tile.getType()).getShape();
}

/// Whether a value is there where an op of a block is executed.
static bool isThereFor(Value value, Operation *op) {
  Operation *source = value.getDefiningOp();
  return !source || source->getBlock() != op->getBlock() || source->isBeforeInBlock(op);
}

/// Whether an element of `value` needs, of `tile` and of what was materialised since, only the
/// elements of its own row.
bool TileLowering::isOfItsRow(Value value, const Trail &trail) {
  Operation *op = value.getDefiningOp();
  core::ReduceOp reduce = trail.reduce;
  if (value == reduce.getSource() || value == reduce.getResult() ||
      llvm::is_contained(trail.between, op) || buffers_.count(value))
    return true;
  if (auto broadcast = dyn_cast_or_null<core::BroadcastOp>(op))
    return shapeOf(broadcast.getSource()).size() == 2 &&
           shapeOf(broadcast.getSource()).front() == shapeOf(value).front() &&
           isOfItsRow(broadcast.getSource(), trail);
  Operation *first = reduce.getSource().getDefiningOp(); // everything is lowered there
  if (isa_and_nonnull<arith::ConstantOp>(op))
    return true;
  if (auto splat = dyn_cast_or_null<tensor::SplatOp>(op))
    return isThereFor(splat.getInput(), first);
  if (isa_and_nonnull<core::LoadOp>(op))
    return accesses_.count(op) && staysInline(op);
  if (!op || (!isa<core::CastOp>(op) && !op->hasTrait<OpTrait::Elementwise>()))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return isTile(operand) ? isOfItsRow(operand, trail) : isThereFor(operand, first);
  });
}

/// The store of the block that can trail a reduction along the rows of `tile`, and what is
/// materialised in between.
std::optional<TileLowering::Trail> TileLowering::trailOf(core::ReduceOp reduce) {
  Value tile = reduce.getSource();
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getRank() != 2 || type.getDimSize(1) % (target_.vectorBytes / 4))
    return {};
  Trail trail{reduce, {}, {}};
  Operation *first = tile.getDefiningOp(), *op = first->getNextNode();
  for (; op && !isa<core::StoreOp>(op); op = op->getNextNode()) {
    bool isTileOp = op->getNumResults() == 1 && isTile(op->getResult(0));
    if (op == reduce.getOperation() || isa<core::RequireOp>(op))
      continue;
    if (!isMemoryEffectFree(op) || op->getNumRegions())
      return {};
    if (!isTileOp || op->use_empty() || staysInline(op))
      continue;
    if (shapeOf(op->getResult(0)) != shapeOf(reduce.getResult()) || isWhole(op) ||
        !isOfItsRow(op->getResult(0), trail))
      return {};
    trail.between.push_back(op);
  }
  trail.store = dyn_cast_or_null<core::StoreOp>(op);
  auto isEarlier = [&](Value value) { return isThereFor(value, first); };
  if (!trail.store || shapeOf(trail.store.getTile()) != type.getShape() ||
      !isOfItsRow(trail.store.getTile(), trail) || !isEarlier(trail.store.getView()) ||
      !llvm::all_of(trail.store.getCoords(), isEarlier))
    return {};
  return trail;
}

/// Whether two views, which are not empty, share no bytes.
Value TileLowering::areApart(const Access &a, const Access &b) {
  auto ends = [&](const Access &access) { // of memory that the view lies in
    Value low = addressOf(access, At(access.sizes.size(), index(0))), high = low;
    int64_t bytes = core::elementBytes(storageType(access.element));
    for (auto [size, stride] : llvm::zip_equal(access.sizes, access.strides)) {
      Value span = mul(mul(b_.create<arith::SubIOp>(loc_, size, index(1)), index(bytes)), stride);
      low = add(low, b_.create<arith::MinSIOp>(loc_, span, index(0)));
      high = add(high, b_.create<arith::MaxSIOp>(loc_, span, index(0)));
    }
    return std::pair(low, add(high, index(bytes)));
  };
  auto [aLow, aHigh] = ends(a);
  auto [bLow, bHigh] = ends(b);
  auto notAbove = [&](Value x, Value y) {
    return b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ule, x, y);
  };
  return b_.create<arith::OrIOp>(loc_, notAbove(aHigh, bLow), notAbove(bHigh, aLow));
}

/// Whether the store may trail: whole tiles, past the caches, apart from what is read, there and
/// by `others`. Null: never.
Value TileLowering::canTrail(const Reads &reads, const Reads &others, const Access &store,
                             RankedTensorType tile) {
  auto isSplit = [](const Access *read) { return !read->unitStride; };
  if (isWhole_ || !store.unitStride || llvm::any_of(reads, isSplit))
    return {};
  isWhole_ = true;
  Value result = canStream(store, tile);
  isWhole_ = false;
  auto require = [&](Value condition) {
    result = b_.create<arith::AndIOp>(loc_, result, condition);
  };
  if (result)
    require(isInside(store));
  for (const Access *read : reads)
    if (result) {
      require(isInside(*read));
      require(areApart(*read, store));
    }
  for (const Access *other : others)
    if (result && !llvm::is_contained(reads, other))
      require(areApart(*other, store));
  return result;
}

/// Row by row: its elements and their combination, beside them the store of the row before.
void TileLowering::lowerRows(const Trail &trail, const Access &access, const Reads &prefetches,
                             const Pending *pending) {
  core::ReduceOp reduce = trail.reduce;
  core::StoreOp last = trail.store;
  Value tile = reduce.getSource(), stored = last.getTile();
  auto type = cast<RankedTensorType>(tile.getType());
  int64_t rows = type.getDimSize(0), lanes = target_.vectorBytes / 4;
  auto store = [&](Value row, Value column, int64_t width) {
    At at{row, column};
    stream(emit(stored, at, width), access, elementAt(access, at));
  };
  auto compute = [&](Value row, const Beside &beside) {
    At at{row, index(0)};
    Value scalar = reduceRow(tile, at, reduce.getKind(), buffers_.at(tile), prefetches, beside);
    storeBuffer(rounded(repeat(scalar, 1), type.getElementType()), buffers_.at(reduce.getResult()),
                at);
    for (Operation *op : trail.between)
      storeBuffer(emitOp(op, at, 1), buffers_.at(op->getResult(0)), at);
  };
  auto first = [&] { compute(index(0), {}); };
  if (pending)
    wherePending(*pending, [&] { compute(index(0), storePending(trail, *pending)); }, first);
  else
    first();
  forRange(index(1), index(rows), 1, [&](Value row) {
    Value before = b_.create<arith::SubIOp>(loc_, row, index(1));
    compute(row, [&](Value column, int64_t width) { store(before, column, width); });
  });
  if (!pending)
    return forRange(index(0), index(type.getDimSize(1)), lanes,
                    [&](Value column) { store(index(rows - 1), column, lanes); });
  leavePending(*pending, addressOf(access, elementAt(access, {index(rows - 1), index(0)})));
}

/// Lowers a reduction, whose source is kept, and the store that trails it: in one walk where that
/// may be, else one after the other. False, and nothing is lowered, where it never may be.
bool TileLowering::lowerTrail(const Trail &trail, Value keep, Value reduced) {
  core::ReduceOp reduce = trail.reduce;
  core::StoreOp store = trail.store;
  auto type = cast<RankedTensorType>(reduce.getSource().getType());
  Access access = accessOf(store.getView(), store.getCoords(), type.getShape(), {});
  Reads tiles = readsOf(reduce.getSource()), loads;
  scf::ForOp loop = loopOf(trail, loads);
  if (!loop && type.getDimSize(0) < 2)
    return false;
  Buffers fresh{{reduce.getSource(), keep}, {reduce.getResult(), reduced}};
  for (Operation *op : trail.between)
    fresh[op->getResult(0)] = bufferFor(cast<RankedTensorType>(op->getResult(0).getType()));
  withBuffers(fresh, [&] { tiles.append(readsOf(store.getTile())); });
  Value together = canTrail(tiles, loop ? loads : Reads(), access, type);
  if (!together)
    return false;

  std::optional<Pending> pending;
  if (loop)
    pending = declarePending(fresh, type.getDimSize(0), loop);
  auto branch = b_.create<scf::IfOp>(loc_, together, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  Reads outer = prefetches_;
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  isWhole_ = true;
  withBuffers(pending ? buffersOf(*pending, true) : fresh, [&] {
    lowerRows(trail, access, takePrefetches(type.getShape()), pending ? &*pending : nullptr);
  });
  isWhole_ = false;
  prefetches_ = outer;

  b_.setInsertionPoint(branch.elseBlock()->getTerminator());
  if (pending)
    flush(trail, *pending);
  lowerReduce(reduce, reduced, keep);
  buffers_[reduce.getSource()] = keep;
  buffers_[reduce.getResult()] = reduced;
  for (Operation *op : trail.between) {
    computeInto(op->getResult(0), fresh.at(op->getResult(0)));
    buffers_[op->getResult(0)] = fresh.at(op->getResult(0));
  }
  trailing_.insert(store);
  bool isLowered = succeeded(lowerStore(store));
  if (pending)
    flushAround(trail, *pending, loop);
  return isLowered;
}

} // namespace ditron::cpu
